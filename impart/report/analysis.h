#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "impart/results/results.h"
#include "impart/statistics/comparison.h"
#include "impart/statistics/describe.h"

namespace impart::report {

// What the sections of a report share: results, and the statistics of them, computed once.

/// One arm and what is known about it.
struct ArmAnalysis {
  const results::ArmResults* arm = nullptr;
  std::vector<double> values = {};  ///< of the metric, by run
  statistics::Description metric = {};
  std::optional<statistics::Description> companion =
      {};  ///< final where the metric is best, and vice versa
  const statistics::ArmComparison* comparison =
      nullptr;  ///< to the baseline; null for the baseline itself
  bool is_baseline = false;
};

/// What can be said of the arms of one group.
struct GroupAnalysis {
  const results::ResultGroup* group = nullptr;
  std::optional<statistics::StudyComparison> comparison = {};  ///< absent without a baseline
  std::vector<ArmAnalysis> arms = {};                          ///< in the order of the group
  std::vector<std::size_t> ranking = {};  ///< arms but the baseline, best mean first

  const ArmAnalysis* baseline() const;
  /// The baseline, if there is one, then the best `count` others.
  std::vector<const ArmAnalysis*> leaders(std::size_t count) const;
};

/// A run whose training loss is NaN or infinite from an epoch on, counted from 0.
struct DivergedRun {
  std::string folder;
  std::uint32_t epoch = 0;
};

/// Points into the results it was made of, which must outlive it.
struct Analysis {
  const results::Results* results = nullptr;
  std::vector<GroupAnalysis> groups = {};
  statistics::Better better = statistics::Better::kHigher;
  std::string metric_name;  ///< "best accuracy"
  std::string curve_name;   ///< "test accuracy"
  std::string unit;         ///< of the metric: "%", "s", ""
  std::size_t runs = 0;
  std::vector<DivergedRun> diverged = {};
};

/// Describes all arms and compares them with the baselines of their groups. Arms of one group are
/// one family for Holm's correction.
Analysis analyse(const results::Results& results);

/// The mean of a number of the summaries; NaN if no run has it.
double mean_number(const results::ArmResults& arm, std::string_view name);

/// The value that the metric is the best or last of, at the end of an epoch: test loss, perplexity
/// or bits per byte for these, test accuracy for all others.
double curve_value(const results::EpochResult& epoch, std::string_view metric);

}  // namespace impart::report
