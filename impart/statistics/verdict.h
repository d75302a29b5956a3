#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "impart/statistics/comparison.h"

namespace impart::statistics {

struct VerdictSpec {
  std::string unit = "points";  ///< of the metric; empty for none
  std::size_t most_names = 5;   ///< arms named in one list; the others are counted
};

/// What a study may claim, in plain sentences, the main one first:
///
///   Of 36 settings none is better than vanilla after correction; 2 are worse: ...
///   With n = 10 a difference of 0.35 points would have been seen with probability 0.8.
///
/// Further ones say what chance alone would look like, how many seeds the largest gain would need,
/// which test was used and why, and what could not be compared. Names of arms appear as they are:
/// whoever prints to HTML or a terminal escapes the sentences.
std::vector<std::string> write_verdict(const StudyComparison& study, const VerdictSpec& spec = {});

}  // namespace impart::statistics
