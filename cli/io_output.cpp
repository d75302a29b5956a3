// How `impart io` shows what strategies cost.

#include "cli/io_output.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

double share_moved(const IoPrediction& prediction, const cost::StrategyCost& cost) {
  const auto examples = static_cast<double>(prediction.spec.examples);
  return examples == 0 ? 0 : cost.later.examples_moved / examples;
}

double weight_bytes(const IoPrediction& prediction, config::SyncRule sync) {
  cost::WeightSpec spec{.config = prediction.config,
                        .examples = prediction.spec.examples,
                        .parameters = prediction.parameters};
  spec.config.workers.sync = sync;
  return cost::weight_bytes_per_epoch(spec);
}

/// Where gradients are added up in every step.
double gradient_bytes(const IoPrediction& prediction) {
  return weight_bytes(prediction, {});
}

double weight_bytes(const IoPrediction& prediction) {
  return weight_bytes(prediction, prediction.config.workers.sync);
}

/// "every 50 steps"
std::string describe_interval(const config::SyncRule& sync) {
  return sync.kind == config::SyncRule::Kind::kEpoch ? "once an epoch"
                                                     : fmt::format("every {} steps", sync.steps);
}

double statistics_bytes(const IoPrediction& prediction) {
  const config::WorkersConfig& workers = prediction.config.workers;
  return prediction.statistics_bytes *
         static_cast<double>(cost::steps_per_epoch(workers, prediction.spec.examples));
}

/// The formula's moves of a mean epoch after the first.
std::string expected_text(const cost::StrategyCost& cost, std::uint32_t epochs) {
  if (!cost.expected_moved || epochs < 2) return "-";
  return count_text(*cost.expected_moved / (epochs - 1));
}

std::string moves_table(const IoPrediction& prediction, bool raw) {
  TextTable table({"strategy", "moved/epoch", "formula", "share", "flows/epoch", "extra forward",
                   "network/epoch", "network/run", "peak stored", "bound"});
  for (const auto& [strategy, cost] : prediction.rows) {
    table.add({strategy.name, count_text(cost.later.examples_moved),
               expected_text(cost, prediction.base.epochs.value()),
               fmt::format("{:.1f} %", 100 * share_moved(prediction, cost)),
               count_text(cost.later.flows), count_text(cost.later.importance_pass),
               bytes_text(cost.later.network_bytes, raw), bytes_text(cost.run.network_bytes, raw),
               fmt::format("{}", cost.peak_stored), fmt::format("{}", cost.peak_bound)});
  }
  return table.text();
}

std::string disk_table(const IoPrediction& prediction, bool raw) {
  TextTable table({"strategy", "repl. source/epoch", "repl. source/run", "part. source/run",
                   "local read/epoch", "local read/run", "written/epoch", "written/run"});
  for (const auto& [strategy, cost] : prediction.rows) {
    table.add({strategy.name, bytes_text(cost.later.replicated_source_bytes, raw),
               bytes_text(cost.run.replicated_source_bytes, raw),
               bytes_text(cost.run.partitioned_source_bytes, raw),
               bytes_text(cost.later.local_read_bytes, raw),
               bytes_text(cost.run.local_read_bytes, raw),
               bytes_text(cost.later.local_written_bytes, raw),
               bytes_text(cost.run.local_written_bytes, raw)});
  }
  return table.text();
}

/// What selections leave out, of those that do.
void print_visits(const IoPrediction& prediction) {
  for (const auto& [strategy, cost] : prediction.rows) {
    const cost::IoCost& run = cost.run;
    if (run.visits_hidden == 0) continue;
    answer(
        "Selection, {}: {} visits in the run; {} times an example is hidden, {} times refreshed.\n",
        strategy.name, count_text(std::round(run.visits)),
        count_text(std::round(run.visits_hidden)), count_text(run.visits_refreshed));
  }
}

/// How the simulation was made shorter than the run, if it was.
void print_shortcuts(const IoPrediction& prediction) {
  const auto& rows = prediction.rows;
  const auto shortened = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
    return row.cost.events_simulated < row.cost.events;
  });
  if (shortened != rows.end()) {
    answer(
        "To save time, fewer events were simulated; the others are taken as their mean ({}: {} of "
        "{}).\n",
        shortened->strategy.name, shortened->cost.events_simulated, shortened->cost.events);
  }
  const auto smallest =
      std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return a.cost.examples_simulated < b.cost.examples_simulated;
      });
  if (smallest->cost.examples_simulated < prediction.spec.examples) {
    answer(
        "To save time, smaller data sets stood for the real one ({}: {} examples); flows are "
        "theirs.\n",
        smallest->strategy.name, smallest->cost.examples_simulated);
  }
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
  answer(
      "First epoch, all strategies: {} from the source; local directories write {} and read {}.\n",
      bytes_text(first.partitioned_source_bytes, raw), bytes_text(first.local_written_bytes, raw),
      bytes_text(first.local_read_bytes, raw));
  if (prediction.parameters > 0) print_weights(prediction, raw);
  if (prediction.statistics_bytes > 0) {
    answer("Statistics that batch norms share, batch {}: {} per epoch on the network.\n",
           prediction.config.workers.batch, bytes_text(statistics_bytes(prediction), raw));
  }
  print_visits(prediction);
  print_shortcuts(prediction);
}

void print_tables(const IoPrediction& prediction, bool raw) {
  const cost::IoSpec& spec = prediction.spec;
  answer("{} examples of {} ({}), {} workers, {} epochs, importance with drift {}\n\n",
         spec.examples, bytes_text(spec.payload_bytes, raw),
         bytes_text(static_cast<double>(spec.examples) * spec.payload_bytes, raw),
         prediction.base.workers, prediction.base.epochs.value(), spec.drift);
  answer("What moves in a partitioned store (/epoch: mean of the epochs after the first)\n{}\n",
         moves_table(prediction, raw));
  answer(
      "What is read and written: replicated from files{}; partitioned, in memory (source only) or "
      "local directories\n{}\n",
      spec.cache_bytes == 0 ? ""
                            : fmt::format(", {} of cache per process",
                                          bytes_text(static_cast<double>(spec.cache_bytes), raw)),
      disk_table(prediction, raw));
  print_notes(prediction, raw);
}

/// A row as names and values, for CSV and JSON alike.
Json flat_row(const IoPrediction& prediction, const IoPrediction::Row& row) {
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
  return json;
}

Json flat_rows(const IoPrediction& prediction) {
  Json rows = Json::array();
  for (const auto& row : prediction.rows) rows.push_back(flat_row(prediction, row));
  return rows;
}

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char letter : text)
    quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

void print_csv(const Json& rows, const std::vector<std::string>& columns) {
  answer("{}\n", fmt::join(columns, ","));
  for (const Json& row : rows) {
    std::vector<std::string> fields;
    for (const std::string& column : columns) fields.push_back(csv_field(row.at(column)));
    answer("{}\n", fmt::join(fields, ","));
  }
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// -0.4 % as "-0.40 %"; nothing can be said where nothing was predicted.
std::string deviation_text(double deviation) {
  const char* mark = std::abs(deviation) > cost::kDeviationToMark ? " !" : "  ";
  return std::isinf(deviation) ? fmt::format("inf{}", mark)
                               : fmt::format("{:+.2f} %{}", 100 * deviation, mark);
}

std::string peak_text(const cost::RunIo& run) {
  std::string text = fmt::format("peak stored: {} examples", run.peak_stored);
  if (!run.peak_bound) return text;
  if (run.peak_stored > *run.peak_bound) {
    return text + fmt::format(", but only {} allowed !", *run.peak_bound);
  }
  return text + fmt::format(", at most {} allowed", *run.peak_bound);
}

void print_run(const cost::RunIo& run, bool raw) {
  answer("{}: {}, {} epochs\n", run.folder, run.store, run.epochs);
  if (!run.comparisons.empty()) {
    TextTable table({"", "predicted", "measured", "deviation", "worst epoch", ""});
    for (const cost::IoComparison& row : run.comparisons) {
      const auto text = [&](double value) {
        return row.is_bytes ? bytes_text(value, raw) : count_text(value);
      };
      table.add({std::string(row.quantity), text(row.predicted), text(row.measured),
                 deviation_text(row.deviation()), deviation_text(row.worst_deviation),
                 row.worst_deviation == 0 ? "" : fmt::format("(epoch {})", row.worst_epoch + 1)});
    }
    answer("{}", table.text());
  }
  if (run.peak_stored > 0) answer("{}\n", peak_text(run));
  for (const std::string& note : run.notes) answer("note: {}\n", note);
}

Json flat_comparison(const cost::RunIo& run, const cost::IoComparison& row) {
  return {{"run", run.folder},
          {"store", run.store},
          {"epochs", run.epochs},
          {"quantity", row.quantity},
          {"predicted", row.predicted},
          {"measured", row.measured},
          {"deviation", row.deviation()},
          {"worst_deviation", row.worst_deviation},
          {"worst_epoch", row.worst_epoch}};
}

Json run_json(const cost::RunIo& run) {
  Json json = {{"run", run.folder},           {"store", run.store},
               {"epochs", run.epochs},        {"peak_stored", run.peak_stored},
               {"peak_bound", nullptr},       {"notes", run.notes},
               {"comparisons", Json::array()}};
  if (run.peak_bound) json["peak_bound"] = *run.peak_bound;
  for (const cost::IoComparison& row : run.comparisons) {
    json["comparisons"].push_back(flat_comparison(run, row));
  }
  return json;
}

}  // namespace

void print_prediction(const IoPrediction& prediction, const IoOutput& output) {
  if (output.format == IoFormat::kTable) {
    print_tables(prediction, output.raw_bytes);
    return;
  }
  const Json rows = flat_rows(prediction);
  if (output.format == IoFormat::kCsv) {
    print_csv(rows, keys_of(rows.front()));
    return;
  }
  const cost::IoSpec& spec = prediction.spec;
  const Json json = {{"examples", spec.examples},
                     {"payload_bytes", spec.payload_bytes},
                     {"workers", prediction.base.workers},
                     {"epochs", prediction.base.epochs.value()},
                     {"cache_bytes", spec.cache_bytes},
                     {"drift", spec.drift},
                     {"strategies", rows}};
  answer("{}\n", json.dump(2));
}

void print_comparisons(const std::vector<cost::RunIo>& runs, const IoOutput& output) {
  if (output.format == IoFormat::kTable) {
    for (const cost::RunIo& run : runs) {
      if (&run != &runs.front()) answer("\n");
      print_run(run, output.raw_bytes);
    }
    return;
  }
  Json rows = Json::array();
  Json all = Json::array();
  for (const cost::RunIo& run : runs) {
    for (const cost::IoComparison& row : run.comparisons) rows.push_back(flat_comparison(run, row));
    all.push_back(run_json(run));
  }
  if (output.format == IoFormat::kCsv) {
    print_csv(rows, keys_of(flat_comparison({}, {})));
  } else {
    answer("{}\n", all.dump(2));
  }
}

}  // namespace impart::cli
