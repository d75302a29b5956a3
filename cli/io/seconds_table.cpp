#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/io/measures.h"
#include "cli/io/strategy_table.h"
#include "cli/io/tables.h"
#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {
namespace {

using Row = IoPrediction::Row;

std::string seconds_table(const IoPrediction& prediction) {
  const auto column = [](std::string head, auto seconds) {
    return StrategyColumn{std::move(head), true, [=](const Row& row) {
                            return cost::seconds_text(seconds(row.time.later));
                          }};
  };
  using Time = cost::EpochTime;
  const double nodes = prediction.time->nodes;
  std::vector<StrategyColumn> columns = {
      column("reading", [](const Time& time) { return time.reading.seconds; }),
      column("exchange", [](const Time& time) { return time.exchange.seconds; }),
      column("forward", [](const Time& time) { return time.forward; }),
      column("gradients", [](const Time& time) { return time.gradients.seconds; }),
      column("hidden", [](const Time& time) { return time.hidden(); }),
      column("epoch", [](const Time& time) { return time.total(); }),
      column("all nodes", [=](const Time& time) { return nodes * time.total(); }),
  };
  if (prediction.time->statistics.nodes > 1) {
    columns.insert(columns.begin() + 4,
                   column("statistics", [](const Time& time) { return time.statistics; }));
  }
  return strategy_table(prediction, columns, true);
}

/// "network 25 Gb/s, latency 5 us": what is known.
std::string machine_text(const cost::Machine& machine) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name, double value, auto* text) {
    if (value > 0) parts.push_back(fmt::format("{} {}", name, text(value)));
  };
  add("network", machine.network, cost::bit_rate_text);
  add("latency", machine.latency, cost::seconds_text);
  add("disk", machine.disk, cost::byte_rate_text);
  add("file system of all", machine.file_system, cost::byte_rate_text);
  add("step", machine.step, cost::seconds_text);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Where the seconds come from that no strategy changes.
void print_compute(const IoPrediction& prediction) {
  const cost::TimeSpec& spec = *prediction.time;
  const double compute = spec.steps * spec.machine.step;
  if (compute > 0) {
    answer("An epoch computes {} in {} steps; hidden is what passes meanwhile.\n",
           cost::seconds_text(compute), count_text(spec.steps));
  } else {
    answer("Without --step an epoch is only what it waits for, and nothing hides.\n");
  }
  if (spec.parameters == 0 && spec.nodes > 1) {
    answer("Without --parameters gradients take no time.\n");
  }
  const cost::StrategyTime& time = prediction.rows.front().time;
  const double more = time.first.reading.waits() - time.later.reading.waits();
  if (more > 0) answer("The first epoch waits {} more, for the parts.\n", cost::seconds_text(more));
}

}  // namespace

void print_seconds(const IoPrediction& prediction) {
  const cost::TimeSpec& spec = *prediction.time;
  answer("{} nodes: {}\nSeconds of an epoch, on each of them\n{}\n", spec.nodes,
         machine_text(spec.machine), seconds_table(prediction));
  print_compute(prediction);
  answer("{}\n", advice_of(prediction));
}

}  // namespace impart::cli
