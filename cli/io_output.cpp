// How `impart io` shows what strategies cost.

#include "cli/io_output.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/terminal/text_table.h"
#include "impart/cost/io_advice.h"

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
  return prediction.statistics_bytes * static_cast<double>(cost::steps_per_epoch(
                                           prediction.spec.examples, workers.count, workers.batch));
}

/// The formula's moves of a mean epoch after the first.
std::string expected_text(const cost::StrategyCost& cost, std::uint32_t epochs) {
  if (!cost.expected_moved || epochs < 2) return "-";
  return count_text(*cost.expected_moved / (epochs - 1));
}

using Row = IoPrediction::Row;

/// A column of a table of strategies, and whether a narrow table has it, too.
struct Column {
  std::string head;
  bool narrow;
  std::function<std::string(const Row&)> text;
};

std::string table_of(const IoPrediction& prediction, const std::vector<Column>& columns,
                     bool wide) {
  std::vector<std::string> heads = {"strategy"};
  for (const Column& column : columns) {
    if (wide || column.narrow) heads.push_back(column.head);
  }
  TextTable table(heads);
  for (const Row& row : prediction.rows) {
    std::vector<std::string> cells = {row.strategy.name};
    for (const Column& column : columns) {
      if (wide || column.narrow) cells.push_back(column.text(row));
    }
    table.add(cells);
  }
  return table.text();
}

/// A column of bytes: of the mean epoch, or of the run.
Column bytes_column(std::string head, bool narrow, double cost::IoCost::*value, bool raw) {
  cost::IoCost cost::StrategyCost::*of =
      head.ends_with("/run") ? &cost::StrategyCost::run : &cost::StrategyCost::later;
  return {std::move(head), narrow,
          [=](const Row& row) { return bytes_text((row.cost.*of).*value, raw); }};
}

Column count_column(std::string head, double cost::IoCost::*value) {
  return {std::move(head), true, [=](const Row& row) { return count_text(row.cost.later.*value); }};
}

std::string moves_table(const IoPrediction& prediction, const IoOutput& output) {
  const bool raw = output.raw_bytes;
  const std::vector<Column> columns = {
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
  return table_of(prediction, columns, output.wide);
}

std::string disk_table(const IoPrediction& prediction, const IoOutput& output) {
  const bool raw = output.raw_bytes;
  const std::vector<Column> columns = {
      bytes_column("repl. source/epoch", true, &cost::IoCost::replicated_source_bytes, raw),
      bytes_column("repl. source/run", false, &cost::IoCost::replicated_source_bytes, raw),
      bytes_column("part. source/run", false, &cost::IoCost::partitioned_source_bytes, raw),
      bytes_column("local read/epoch", true, &cost::IoCost::local_read_bytes, raw),
      bytes_column("local read/run", false, &cost::IoCost::local_read_bytes, raw),
      bytes_column("written/epoch", true, &cost::IoCost::local_written_bytes, raw),
      bytes_column("written/run", false, &cost::IoCost::local_written_bytes, raw),
  };
  return table_of(prediction, columns, output.wide);
}

std::string seconds_table(const IoPrediction& prediction) {
  const auto column = [](std::string head, auto seconds) {
    return Column{std::move(head), true,
                  [=](const Row& row) { return cost::seconds_text(seconds(row.time.later)); }};
  };
  using Time = cost::EpochTime;
  const double nodes = prediction.time->nodes;
  const std::vector<Column> columns = {
      column("reading", [](const Time& time) { return time.reading.seconds; }),
      column("exchange", [](const Time& time) { return time.exchange.seconds; }),
      column("forward", [](const Time& time) { return time.forward; }),
      column("gradients", [](const Time& time) { return time.gradients.seconds; }),
      column("hidden", [](const Time& time) { return time.hidden(); }),
      column("epoch", [](const Time& time) { return time.total(); }),
      column("all nodes", [=](const Time& time) { return nodes * time.total(); }),
  };
  return table_of(prediction, columns, true);
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

std::string advice_of(const IoPrediction& prediction) {
  std::vector<cost::TimedStrategy> timed;
  for (const Row& row : prediction.rows) {
    timed.push_back({row.strategy.name, row.cost.later.examples_moved, row.time.later});
  }
  return cost::advise(timed);
}

void print_seconds(const IoPrediction& prediction) {
  const cost::TimeSpec& spec = *prediction.time;
  answer("{} nodes: {}\nSeconds of an epoch, on each of them\n{}\n", spec.nodes,
         machine_text(spec.machine), seconds_table(prediction));
  print_compute(prediction);
  answer("{}\n", advice_of(prediction));
}

bool has_price(const IoPrediction& prediction) {
  return prediction.price.per_1000_reads > 0 || prediction.price.per_gigabyte > 0;
}

bool has_caches(const IoPrediction& prediction) {
  return prediction.spec.cache_bytes > 0 || prediction.spec.cache_disk_bytes > 0;
}

/// What a run's reads of the source cost: each read that no cache answers is one request.
double money_of(const IoPrediction& prediction, const cost::IoCost& cost) {
  return cost.cache_misses / 1000 * prediction.price.per_1000_reads +
         cost.replicated_source_bytes / 1e9 * prediction.price.per_gigabyte;
}

/// "pin, 64.0 MB in memory, cooperative"
std::string describe_caches(const cost::IoSpec& spec, bool raw) {
  std::vector<std::string> parts = {std::string(spec.cache_policy->name)};
  const auto add = [&](std::uint64_t bytes, const char* where) {
    if (bytes == 0) return;
    parts.push_back(fmt::format("{} {}", bytes_text(static_cast<double>(bytes), raw), where));
  };
  add(spec.cache_bytes, "in memory");
  add(spec.cache_disk_bytes, "on disk");
  if (spec.cooperative) parts.emplace_back("cooperative");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string caches_table(const IoPrediction& prediction, const IoOutput& output) {
  const auto share = [](std::string head, double cost::IoCost::*hits) {
    return Column{std::move(head), true, [=](const Row& row) {
                    const cost::IoCost& cost = row.cost.later;
                    const double reads = cost.cache_hits + cost.cache_hits_disk +
                                         cost.cache_hits_peers + cost.cache_misses;
                    return fmt::format("{:.1f} %", reads == 0 ? 0 : 100 * (cost.*hits) / reads);
                  }};
  };
  std::vector<Column> columns = {
      share("memory", &cost::IoCost::cache_hits),
      share("disk", &cost::IoCost::cache_hits_disk),
      share("peers", &cost::IoCost::cache_hits_peers),
      share("source", &cost::IoCost::cache_misses),
      bytes_column("source/epoch", true, &cost::IoCost::replicated_source_bytes, output.raw_bytes),
      bytes_column("peers/epoch", true, &cost::IoCost::peer_bytes, output.raw_bytes),
      bytes_column("source/run", true, &cost::IoCost::replicated_source_bytes, output.raw_bytes),
  };
  if (has_price(prediction)) {
    columns.push_back({"price/run", true, [&](const Row& row) {
                         return fmt::format("{:.2f}", money_of(prediction, row.cost.run));
                       }});
  }
  return table_of(prediction, columns, output.wide);
}

void print_caches(const IoPrediction& prediction, const IoOutput& output) {
  if (!has_caches(prediction) && !has_price(prediction)) return;
  answer("Reads of a replicated store{}\n{}\n",
         has_caches(prediction) ? fmt::format(" with caches in each process: {}",
                                              describe_caches(prediction.spec, output.raw_bytes))
                                : "",
         caches_table(prediction, output));
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

void sort_rows(IoPrediction& prediction) {
  const auto cost_of = [&](const Row& row) {
    return prediction.time ? row.time.later.total() : row.cost.later.network_bytes;
  };
  std::stable_sort(prediction.rows.begin(), prediction.rows.end(),
                   [&](const Row& a, const Row& b) { return cost_of(a) < cost_of(b); });
}

void print_tables(IoPrediction prediction, const IoOutput& output) {
  sort_rows(prediction);
  const cost::IoSpec& spec = prediction.spec;
  const bool raw = output.raw_bytes;
  answer("{} examples of {} ({}), {} workers, {} epochs, importance with drift {}\n\n",
         spec.examples, bytes_text(spec.payload_bytes, raw),
         bytes_text(static_cast<double>(spec.examples) * spec.payload_bytes, raw),
         prediction.base.workers, prediction.base.epochs.value(), spec.drift);
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
  if (prediction.time) {
    json.update(machine_json(*prediction.time));
    json["advice"] = advice_of(prediction);
  }
  json["strategies"] = rows;
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
