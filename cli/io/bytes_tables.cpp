#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/io/measures.h"
#include "cli/io/strategy_table.h"
#include "cli/io/tables.h"
#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {
namespace {

using Row = IoPrediction::Row;

/// The formula's moves of a mean epoch after the first.
std::string expected_text(const cost::StrategyCost& cost, std::uint32_t epochs) {
  if (!cost.expected_moved || epochs < 2) return "-";
  return count_text(*cost.expected_moved / (epochs - 1));
}

std::string moves_table(const IoPrediction& prediction, const IoOutput& output) {
  const bool raw = output.raw_bytes;
  const std::vector<StrategyColumn> columns = {
      count_column("moved/epoch", &cost::IoCost::examples_moved),
      {"formula", false,
       [&](const Row& row) { return expected_text(row.cost, prediction.base.epochs.value()); }},
      {"share", true,
       [&](const Row& row) {
         return fmt::format("{:.1f} %", 100 * share_moved(prediction, row.cost));
       }},
      count_column("flows/epoch", &cost::IoCost::flows),
      count_column("extra forward", &cost::IoCost::importance_pass),
      bytes_column("network/epoch", true, &cost::IoCost::network_bytes, raw),
      bytes_column("network/run", false, &cost::IoCost::network_bytes, raw),
      {"peak stored", true, [](const Row& row) { return fmt::format("{}", row.cost.peak_stored); }},
      {"bound", false, [](const Row& row) { return fmt::format("{}", row.cost.peak_bound); }},
  };
  return strategy_table(prediction, columns, output.wide);
}

std::string disk_table(const IoPrediction& prediction, const IoOutput& output) {
  const bool raw = output.raw_bytes;
  const std::vector<StrategyColumn> columns = {
      bytes_column("repl. source/epoch", true, &cost::IoCost::replicated_source_bytes, raw),
      bytes_column("repl. source/run", false, &cost::IoCost::replicated_source_bytes, raw),
      bytes_column("part. source/run", false, &cost::IoCost::partitioned_source_bytes, raw),
      bytes_column("local read/epoch", true, &cost::IoCost::local_read_bytes, raw),
      bytes_column("local read/run", false, &cost::IoCost::local_read_bytes, raw),
      bytes_column("written/epoch", true, &cost::IoCost::local_written_bytes, raw),
      bytes_column("written/run", false, &cost::IoCost::local_written_bytes, raw),
  };
  return strategy_table(prediction, columns, output.wide);
}

/// What selections leave out, of those that do.
void print_visits(const IoPrediction& prediction) {
  for (const Row& row : prediction.rows) {
    const cost::IoCost& run = row.cost.run;
    if (run.visits_hidden == 0) continue;
    answer(
        "Selection, {}: {} visits in the run; {} times an example is hidden, {} times refreshed.\n",
        row.strategy.name, count_text(std::round(run.visits)),
        count_text(std::round(run.visits_hidden)), count_text(run.visits_refreshed));
  }
}

/// "every 50 steps"
std::string describe_interval(const config::SyncRule& sync) {
  return sync.kind == config::SyncRule::Kind::kEpoch ? "once an epoch"
                                                     : fmt::format("every {} steps", sync.steps);
}

void print_weights(const IoPrediction& prediction, bool raw) {
  const config::WorkersConfig& workers = prediction.config.workers;
  const double gradients = gradient_bytes(prediction), weights = weight_bytes(prediction);
  answer("Gradients of {} parameters, batch {}: {} per epoch on the network.\n",
         prediction.parameters, workers.batch, bytes_text(gradients, raw));
  if (workers.sync.kind == config::SyncRule::Kind::kStep) return;
  answer("Weights instead, {}: {} per epoch, {:.1f} times less.\n", describe_interval(workers.sync),
         bytes_text(weights, raw), gradients / weights);
}

void print_notes(const IoPrediction& prediction, bool raw) {
  const cost::IoCost& first = prediction.rows.front().cost.first;
  answer("First epoch: {} from the source; local directories write {} and read {}.\n",
         bytes_text(first.partitioned_source_bytes, raw),
         bytes_text(first.local_written_bytes, raw), bytes_text(first.local_read_bytes, raw));
  if (prediction.parameters > 0) print_weights(prediction, raw);
  if (prediction.statistics_bytes > 0) {
    answer("Statistics that batch norms share, batch {}: {} per epoch on the network.\n",
           prediction.config.workers.batch, bytes_text(statistics_bytes(prediction), raw));
  }
  print_visits(prediction);
}

}  // namespace

void print_bytes(const IoPrediction& prediction, const IoOutput& output) {
  const cost::IoSpec& spec = prediction.spec;
  const bool raw = output.raw_bytes;
  answer("What moves in a partitioned store (/epoch: mean of the epochs after the first)\n{}\n",
         moves_table(prediction, output));
  answer(
      "Read and written: replicated from files{}; partitioned, in memory (source only) or local "
      "directories\n{}\n",
      spec.cache_bytes == 0 ? ""
                            : fmt::format(", {} of cache per process",
                                          bytes_text(static_cast<double>(spec.cache_bytes), raw)),
      disk_table(prediction, output));
  print_caches(prediction, output);
  print_notes(prediction, raw);
}

}  // namespace impart::cli
