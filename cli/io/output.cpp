// How `impart io` shows what strategies cost.

#include "cli/io/output.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/io/csv.h"
#include "cli/io/measures.h"
#include "cli/io/tables.h"
#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;
using Row = IoPrediction::Row;

/// How the simulation was made shorter than the run, if it was.
void print_shortcuts(const IoPrediction& prediction) {
  const auto& rows = prediction.rows;
  const auto shortened = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
    return row.cost.events_simulated < row.cost.events;
  });
  if (shortened != rows.end()) {
    answer("To save time, fewer events were simulated and stand for the others ({}: {} of {}).\n",
           shortened->strategy.name, shortened->cost.events_simulated, shortened->cost.events);
  }
  const auto smallest =
      std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return a.cost.examples_simulated < b.cost.examples_simulated;
      });
  if (smallest->cost.examples_simulated < prediction.spec.examples) {
    answer("Smaller data sets stood for the real one ({}: {} examples); flows are theirs.\n",
           smallest->strategy.name, smallest->cost.examples_simulated);
  }
}

void sort_rows(IoPrediction& prediction) {
  const auto cost_of = [&](const Row& row) {
    return prediction.time ? row.time.later.total() : row.cost.later.network_bytes;
  };
  std::stable_sort(prediction.rows.begin(), prediction.rows.end(),
                   [&](const Row& a, const Row& b) { return cost_of(a) < cost_of(b); });
}

/// "importance with drift 0.3"
std::string importance_text(const cost::IoSpec& spec) {
  return spec.recorded == nullptr ? fmt::format("importance with drift {}", spec.drift)
                                  : fmt::format("importance of {}", spec.recorded->folder);
}

void print_tables(IoPrediction prediction, const IoOutput& output) {
  sort_rows(prediction);
  const cost::IoSpec& spec = prediction.spec;
  const bool raw = output.raw_bytes;
  answer("{} examples of {} ({}), {} workers, {} epochs, {}\n\n", spec.examples,
         bytes_text(spec.payload_bytes, raw),
         bytes_text(static_cast<double>(spec.examples) * spec.payload_bytes, raw),
         prediction.base.workers, prediction.base.epochs.value(), importance_text(spec));
  if (prediction.time) {
    print_seconds(prediction);
    if (output.wide) answer("\n");
  }
  if (!prediction.time || output.wide) print_bytes(prediction, output);
  print_shortcuts(prediction);
}

void add_seconds(Json& json, const std::string& epoch, const cost::EpochTime& time,
                 std::uint32_t nodes) {
  json[epoch + "_seconds"] = time.total();
  json[epoch + "_node_seconds"] = nodes * time.total();
  json[epoch + "_compute_seconds"] = time.compute;
  json[epoch + "_forward_seconds"] = time.forward;
  const auto add = [&](const std::string& name, const cost::Overlapped& part) {
    json[fmt::format("{}_{}_seconds", epoch, name)] = part.seconds;
    json[fmt::format("{}_{}_hidden_seconds", epoch, name)] = part.hidden;
  };
  add("reading", time.reading);
  add("exchange", time.exchange);
  add("gradient", time.gradients);
  json[epoch + "_statistics_seconds"] = time.statistics;
}

/// A row as names and values, for CSV and JSON alike.
Json flat_row(const IoPrediction& prediction, const Row& row) {
  const cost::StrategyCost& cost = row.cost;
  Json json = {{"strategy", row.strategy.name},
               {"share_moved", share_moved(prediction, cost)},
               {"expected_moved_run", nullptr}};
  if (cost.expected_moved) json["expected_moved_run"] = *cost.expected_moved;
  for (const cost::IoQuantity& quantity : cost::kIoQuantities) {
    json[fmt::format("first_{}", quantity.name)] = cost.first.*quantity.value;
    json[fmt::format("epoch_{}", quantity.name)] = cost.later.*quantity.value;
    json[fmt::format("run_{}", quantity.name)] = cost.run.*quantity.value;
  }
  if (has_price(prediction)) json["run_price"] = money_of(prediction, cost.run);
  json["peak_stored"] = cost.peak_stored;
  json["peak_bound"] = cost.peak_bound;
  json["events"] = cost.events;
  json["events_simulated"] = cost.events_simulated;
  json["examples_simulated"] = cost.examples_simulated;
  if (prediction.parameters > 0) {
    json["epoch_gradient_bytes"] = gradient_bytes(prediction);
    json["epoch_weight_bytes"] = weight_bytes(prediction);
  }
  if (prediction.statistics_bytes > 0) {
    json["epoch_statistics_bytes"] = statistics_bytes(prediction);
  }
  if (prediction.time) {
    add_seconds(json, "first", row.time.first, prediction.time->nodes);
    add_seconds(json, "epoch", row.time.later, prediction.time->nodes);
    json["run_seconds"] = row.time.run;
  }
  return json;
}

/// In bytes per second, and seconds; null where it is not known.
Json machine_json(const cost::TimeSpec& time) {
  Json machine;
  for (const cost::MachineKey& key : cost::kMachineKeys) {
    const double value = time.machine.*key.value;
    machine[key.name] = value > 0 ? Json(value) : Json(nullptr);
  }
  return {{"nodes", time.nodes}, {"steps_per_epoch", time.steps}, {"machine", machine}};
}

Json flat_rows(const IoPrediction& prediction) {
  Json rows = Json::array();
  for (const auto& row : prediction.rows) rows.push_back(flat_row(prediction, row));
  return rows;
}

}  // namespace

void print_prediction(const IoPrediction& prediction, const IoOutput& output) {
  if (output.format == IoFormat::kTable) {
    print_tables(prediction, output);
    return;
  }
  const Json rows = flat_rows(prediction);
  if (output.format == IoFormat::kCsv) {
    print_csv(rows, keys_of(rows.front()));
    return;
  }
  const cost::IoSpec& spec = prediction.spec;
  Json json = {{"examples", spec.examples},          {"payload_bytes", spec.payload_bytes},
               {"workers", prediction.base.workers}, {"epochs", prediction.base.epochs.value()},
               {"cache_bytes", spec.cache_bytes},    {"drift", spec.drift}};
  if (spec.recorded != nullptr) {
    json["drift"] = nullptr;
    json["importance_of"] = spec.recorded->folder;
  }
  if (prediction.time) {
    json.update(machine_json(*prediction.time));
    json["advice"] = advice_of(prediction);
  }
  json["strategies"] = rows;
  answer("{}\n", json.dump(2));
}

}  // namespace impart::cli
