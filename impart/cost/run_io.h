#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace impart::cost {

/// Predicted and measured, summed over the epochs of a run.
struct IoComparison {
  std::string_view quantity = {};  ///< "network_bytes"
  bool is_bytes = false;
  double predicted = 0;
  double measured = 0;
  /// Of the epoch that deviates most.
  double worst_deviation = 0;
  std::uint32_t worst_epoch = 0;

  /// Measured more (or, below 0, less) than predicted, as a share of it: 0.01 is 1 %. Infinite if
  /// nothing was predicted and something measured.
  double deviation() const;
};

/// Deviations above this are worth a mark.
inline constexpr double kDeviationToMark = 0.01;

/// What a finished or running run cost, next to what its recorded decisions should have cost.
struct RunIo {
  std::string folder;
  std::string store;  ///< "replicated", "partitioned in memory", "partitioned in directories"
  std::uint32_t epochs = 0;  ///< that are compared: in metrics.jsonl and in ledger.jsonl
  std::vector<IoComparison> comparisons = {};  ///< empty if there is nothing to compare
  /// Of a partitioned store: most examples that a worker held, and ⌈(1+Q)·largest part⌉; a part has
  /// ⌈N/n⌉ examples if summary.json does not say "largest_part".
  std::uint64_t peak_stored = 0;
  std::optional<std::uint64_t> peak_bound = {};
  std::vector<std::string> notes = {};  ///< what is missing, and why
};

/// Sizes of the data set, for runs whose summary.json does not say them (yet).
struct DataSizes {
  std::optional<std::uint64_t> examples = {};
  std::optional<double> payload_bytes = {};  ///< mean of an example
};

/// Reads config.yaml, metrics.jsonl, ledger.jsonl and summary.json of a run directory; the last two
/// may be missing. DataError (path, and line) if one is damaged or it is no run directory.
///
/// Predictions use the mean payload: moved · (payload + 8) bytes on the wire, and so on as for
/// predict_io(). Reads that a cache answered are subtracted as they were recorded.
RunIo compare_run_io(const std::string& folder, const DataSizes& sizes);

}  // namespace impart::cost
