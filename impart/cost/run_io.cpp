#include "impart/cost/run_io.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/config/config_file.h"
#include "impart/core/error.h"
#include "impart/cost/io_cost.h"
#include "impart/cost/statistics_cost.h"
#include "impart/placement/exchanges.h"
#include "impart/run/ledger_file.h"
#include "impart/run/metrics_log.h"
#include "impart/run/run_files.h"
#include "impart/run/summary.h"
#include "impart/store/stores.h"

namespace impart::cost {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What metrics.jsonl says of the start of an epoch.
struct Decision {
  double moved = 0;
  double flows = 0;
  bool is_exchange = false;
  std::uint64_t steps = 0;  ///< of the run, after the epoch; 0 in older files
};

double number_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) {
    throw DataError(fmt::format("\"{}\" is missing or not a number", name));
  }
  return found->get<double>();
}

Decision decision_of(const Json& record) {
  const std::uint64_t steps =
      record.contains("step") ? static_cast<std::uint64_t>(number_of(record, "step")) : 0;
  const auto placement = record.find("placement");
  if (placement == record.end()) return {.steps = steps};
  if (!placement->is_object()) throw DataError("\"placement\" is not an object");
  const auto event = placement->find("event");
  return {.moved = number_of(*placement, "moved"),
          .flows = number_of(*placement, "messages"),
          .is_exchange = event != placement->end() && *event == "exchange",
          .steps = steps};
}

std::map<std::uint32_t, Decision> read_decisions(const std::string& path) {
  std::map<std::uint32_t, Decision> decisions;
  run::visit_records(path, [&](const Json& record, std::size_t line) {
    try {
      decisions[record.at("epoch").get<std::uint32_t>()] = decision_of(record);
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}:{}: {}", path, line, error.what()));
    }
  });
  return decisions;
}

struct Sizes {
  std::optional<double> examples;
  std::optional<double> payload_bytes;
  std::optional<double> largest_part;
  std::optional<double> parameters;  ///< of the model
};

Sizes read_sizes(const std::string& folder, const DataSizes& given) {
  Sizes sizes;
  sizes.payload_bytes = given.payload_bytes;
  if (given.examples) sizes.examples = static_cast<double>(*given.examples);
  if (!fs::exists(folder + "/summary.json")) return sizes;
  const run::SummaryFile summary = run::read_summary(folder);
  sizes.examples = summary.number("examples");
  if (!sizes.examples) {
    throw DataError(
        fmt::format("{}/summary.json: \"examples\" is missing or not a number", folder));
  }
  sizes.largest_part = summary.number("largest_part");
  sizes.parameters = summary.number("parameters");
  const auto bytes = summary.number("payload_bytes_total");
  if (bytes && *sizes.examples > 0) sizes.payload_bytes = *bytes / *sizes.examples;
  return sizes;
}

/// One row: where it stands in a prediction, and how it is measured.
struct Quantity {
  std::string_view name;
  double IoCost::*predicted;
  std::uint64_t store::StorageCost::*measured;
};
constexpr Quantity kMoves[] = {
    {"examples_moved", &IoCost::examples_moved, &store::StorageCost::examples_sent},
    {"flows", &IoCost::flows, &store::StorageCost::flows_sent},
};
constexpr Quantity kPartitionedBytes[] = {
    {"network_bytes", &IoCost::network_bytes, &store::StorageCost::bytes_sent},
};
constexpr Quantity kPartitionedSource[] = {
    {"source_bytes", &IoCost::partitioned_source_bytes, &store::StorageCost::bytes_source},
};
constexpr Quantity kDirectoryBytes[] = {
    {"local_read_bytes", &IoCost::local_read_bytes, &store::StorageCost::bytes_local},
    {"local_written_bytes", &IoCost::local_written_bytes, &store::StorageCost::bytes_written},
};
constexpr Quantity kReplicatedBytes[] = {
    {"source_bytes", &IoCost::replicated_source_bytes, &store::StorageCost::bytes_source},
};

double deviation_of(double predicted, double measured) {
  if (predicted == measured) return 0;
  if (predicted == 0) return std::numeric_limits<double>::infinity();
  return measured / predicted - 1;
}

/// One epoch that both files know.
struct ComparedEpoch {
  std::uint32_t epoch = 0;
  IoCost predicted;
  store::StorageCost measured;
  double weight_bytes = 0;  ///< that should have been sent
  std::optional<run::WeightCosts> weights = {};
  double statistics_predicted = 0, statistics_measured = 0;  ///< bytes
};

/// `predicted` and `measured` are functions of an epoch.
template <class Predicted, class Measured>
IoComparison compare_one(std::string_view name, const std::vector<ComparedEpoch>& epochs,
                         const Predicted& predicted, const Measured& measured) {
  IoComparison row{.quantity = name, .is_bytes = name.ends_with("bytes")};
  for (const ComparedEpoch& epoch : epochs) {
    const double expected = predicted(epoch);
    const auto found = static_cast<double>(measured(epoch));
    const double deviation = deviation_of(expected, found);
    if (std::abs(deviation) > std::abs(row.worst_deviation)) {
      row.worst_deviation = deviation;
      row.worst_epoch = epoch.epoch;
    }
    row.predicted += expected;
    row.measured += found;
  }
  return row;
}

template <std::size_t N>
void compare(const std::vector<ComparedEpoch>& epochs, const Quantity (&quantities)[N],
             std::vector<IoComparison>& comparisons) {
  for (const Quantity& quantity : quantities) {
    comparisons.push_back(compare_one(
        quantity.name, epochs,
        [&](const ComparedEpoch& epoch) { return epoch.predicted.*quantity.predicted; },
        [&](const ComparedEpoch& epoch) { return epoch.measured.*quantity.measured; }));
  }
}

/// Nothing if no process sent any, as it should be.
void compare_statistics(const std::vector<ComparedEpoch>& epochs,
                        std::vector<IoComparison>& comparisons) {
  const IoComparison row = compare_one(
      "statistics_bytes", epochs,
      [](const ComparedEpoch& epoch) { return epoch.statistics_predicted; },
      [](const ComparedEpoch& epoch) { return epoch.statistics_measured; });
  if (row.predicted > 0 || row.measured > 0) comparisons.push_back(row);
}

class RunReader {
 public:
  RunReader(std::string folder, const DataSizes& given) : folder_(std::move(folder)) {
    if (!fs::exists(folder_ + "/config.yaml")) {
      throw DataError(fmt::format("{}: is no run directory: it has no config.yaml", folder_));
    }
    config_ = config::load_config(folder_ + "/config.yaml", {}, config::kAnyProgram);
    sizes_ = read_sizes(folder_, given);
  }

  RunIo compare_all() {
    RunIo run{.folder = folder_, .store = config_.store.kind};
    if (!run::read_status(folder_)) run.notes.emplace_back("is still running, or was killed");
    const std::string ledger = folder_ + "/ledger.jsonl";
    if (!fs::exists(ledger)) {
      run.notes.emplace_back("has no ledger.jsonl: nothing was measured");
      return run;
    }
    const auto decisions = read_decisions(folder_ + "/metrics.jsonl");
    match_epochs(decisions, run::read_ledger(ledger), run);
    is_partitioned() ? compare_partitioned(run) : compare_replicated(run);
    compare_weights(run);
    compare_statistics(epochs_, run.comparisons);
    return run;
  }

 private:
  bool is_partitioned() const {
    return !find_entry(store::kStores, "store", config_.store.kind).holds_all;
  }
  bool knows_sizes() const { return sizes_.examples && sizes_.payload_bytes; }

  void match_epochs(const std::map<std::uint32_t, Decision>& decisions,
                    const std::vector<run::LedgerEpoch>& ledger, RunIo& run) {
    std::uint64_t skipped = 0;
    for (const run::LedgerEpoch& measured : ledger) {
      const auto decision = decisions.find(measured.epoch);
      if (decision == decisions.end()) continue;
      const auto before = decisions.find(measured.epoch - 1);
      const std::uint64_t steps_before =
          measured.epoch > 0 && before != decisions.end() ? before->second.steps : 0;
      const std::uint64_t steps = decision->second.steps - steps_before;
      add_epoch(measured, decision->second, steps);
      add_statistics(measured, static_cast<double>(steps));
      skipped += measured.skipped;
    }
    run.epochs = static_cast<std::uint32_t>(epochs_.size());
    const std::size_t known = std::max(decisions.size(), ledger.size());
    if (epochs_.size() < known) {
      run.notes.push_back(fmt::format("{} of {} epochs are in both metrics.jsonl and ledger.jsonl",
                                      epochs_.size(), known));
    }
    if (skipped > 0) run.notes.push_back(fmt::format("{} unreadable examples skipped", skipped));
    if (!knows_sizes()) {
      run.notes.emplace_back(
          "summary.json does not say how many bytes there are: give --examples and --payload to "
          "predict bytes");
    }
  }

  void add_epoch(const run::LedgerEpoch& ledger, const Decision& decision, std::uint64_t steps) {
    const auto parameters = static_cast<std::uint64_t>(sizes_.parameters.value_or(0));
    ComparedEpoch epoch{
        .epoch = ledger.epoch,
        .predicted = predict(ledger, decision),
        .measured = run::total_over_workers(ledger),
        .weight_bytes = static_cast<double>(run::weight_bytes(
            sums_in_epoch(config_, ledger.epoch, steps), config_.workers.count, parameters)),
        .weights = ledger.weights};
    const store::StorageCost& found = epoch.measured;
    const std::uint64_t hits = found.cache_hits + found.cache_hits_disk + found.cache_hits_peers;
    epoch.predicted.replicated_source_bytes -=
        static_cast<double>(hits) * sizes_.payload_bytes.value_or(0);
    epochs_.push_back(epoch);
    if (ledger.epoch == 0 || decision.moved == 0) return;
    const double share = decision.is_exchange ? config_.exchange.fraction : 1.0;
    largest_share_ = std::max(largest_share_, share);
  }

  void add_statistics(const run::LedgerEpoch& ledger, double steps) {
    const auto processes = static_cast<std::uint32_t>(ledger.processes.size());
    ComparedEpoch& epoch = epochs_.back();
    epoch.statistics_predicted = steps * statistics_bytes_per_step(config_, processes);
    for (const run::ProcessCost& process : ledger.processes) {
      epoch.statistics_measured += static_cast<double>(process.bytes_statistics);
    }
  }

  IoCost predict(const run::LedgerEpoch& ledger, const Decision& decision) const {
    const bool pass =
        decision.is_exchange && config_.exchange.strategy != config::kNoExchange &&
        find_entry(placement::kExchanges, "exchange", config_.exchange.strategy).source ==
            placement::ImportanceSource::kInferenceLoss;
    EpochFacts facts{.is_first = ledger.epoch == 0,
                     .moved = decision.moved,
                     .flows = decision.flows,
                     .importance_pass = pass,
                     .examples = sizes_.examples.value_or(0),
                     .payload_bytes = sizes_.payload_bytes.value_or(0)};
    if (ledger.visits) {
      facts.visits = static_cast<double>(ledger.visits->visits);
      facts.hidden = static_cast<double>(ledger.visits->hidden);
      facts.refreshed = static_cast<double>(ledger.visits->refreshed);
    }
    return epoch_cost(facts);
  }

  /// Whether a cost came up in any epoch.
  bool measured(std::uint64_t store::StorageCost::*cost) const {
    return std::any_of(epochs_.begin(), epochs_.end(),
                       [&](const ComparedEpoch& epoch) { return epoch.measured.*cost > 0; });
  }

  void compare_partitioned(RunIo& run) const {
    const bool in_directories =
        measured(&store::StorageCost::bytes_local) || measured(&store::StorageCost::bytes_written);
    run.store = in_directories ? "partitioned in directories" : "partitioned in memory";
    compare(epochs_, kMoves, run.comparisons);
    if (knows_sizes()) compare(epochs_, kPartitionedBytes, run.comparisons);
    if (!measured(&store::StorageCost::bytes_source)) {
      run.notes.emplace_back("nothing was read from files of the data set: it was in memory");
    } else if (knows_sizes()) {
      compare(epochs_, kPartitionedSource, run.comparisons);
    }
    if (knows_sizes() && in_directories) compare(epochs_, kDirectoryBytes, run.comparisons);
    for (const ComparedEpoch& epoch : epochs_) {
      run.peak_stored = std::max(run.peak_stored, epoch.measured.peak_stored);
    }
    if (!sizes_.examples) return;
    const double even = std::ceil(*sizes_.examples / config_.workers.count);
    const double part = sizes_.largest_part.value_or(even);
    run.peak_bound = static_cast<std::uint64_t>(std::ceil((1 + largest_share_) * part - 1e-9));
  }

  void compare_replicated(RunIo& run) const {
    if (!measured(&store::StorageCost::bytes_source) &&
        !measured(&store::StorageCost::cache_hits) &&
        !measured(&store::StorageCost::cache_hits_disk)) {
      run.notes.emplace_back("replicated in memory: no bytes are read or sent for examples");
      return;
    }
    if (knows_sizes()) compare(epochs_, kReplicatedBytes, run.comparisons);
  }

  /// Gradients of every step, or weights of workers that train apart.
  void compare_weights(RunIo& run) const {
    const bool known = std::all_of(epochs_.begin(), epochs_.end(), [](const ComparedEpoch& epoch) {
      return epoch.weights.has_value();
    });
    if (!known || epochs_.empty() || !sizes_.parameters || config_.workers.count < 2) return;
    run.comparisons.push_back(compare_one(
        "weight_bytes", epochs_, [](const ComparedEpoch& epoch) { return epoch.weight_bytes; },
        [](const ComparedEpoch& epoch) { return epoch.weights->bytes; }));
  }

  std::string folder_;
  config::RunConfig config_;
  Sizes sizes_;
  std::vector<ComparedEpoch> epochs_;
  double largest_share_ = 0;
};

}  // namespace

double IoComparison::deviation() const {
  return deviation_of(predicted, measured);
}

RunIo compare_run_io(const std::string& folder, const DataSizes& sizes) {
  return RunReader(folder, sizes).compare_all();
}

}  // namespace impart::cost
