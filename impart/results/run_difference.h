#pragma once

#include <string>
#include <vector>

namespace impart::results {

/// A number of summary.json in two runs; NaN where a run has none.
struct NumberPair {
  std::string name;
  double first = 0, second = 0;
};

/// A key of the configuration that differs; "" where a run has none, being from another version.
struct KeyPair {
  std::string key, first, second;
};

/// What two finished runs have different.
struct RunDifference {
  std::vector<KeyPair> configuration = {};  ///< without `output`
  std::vector<NumberPair> results = {};     ///< best and final ones, and when
  std::vector<NumberPair> costs = {};       ///< seconds, bytes, moves
  bool same_weights = false;                ///< to the bit
};

/// DataError, with the folder's name, if one of them is no finished run.
RunDifference compare_runs(const std::string& first, const std::string& second);

}  // namespace impart::results
