#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "impart/study/spec.h"

namespace impart::study {

// Successive halving: all candidates train for a few epochs, one of `eta` stays and trains `eta`
// times longer, until one is left. Every rung trains from the start: how a learning rate falls and
// when partitions change depends on the length of a run, so a longer run is not a short one
// continued. That costs at most eta/(eta - 1) times the epochs of the last rungs.

/// The epochs of each rung: min_epochs, eta times as many, …, and at last `epochs` themselves.
/// ConfigError if min_epochs is more than those.
std::vector<std::uint32_t> rung_epochs(const SearchSpec& search, std::uint32_t epochs);

/// What a candidate came to in a rung: the mean of its metric. Empty if it failed with every seed.
struct CandidateScore {
  std::string arm;
  std::optional<double> mean;
};

/// The best `count` of the candidates, best first; equal ones in their order. Those without a
/// result are never kept, so there may be fewer.
std::vector<std::string> keep_best(std::vector<CandidateScore> candidates, std::size_t count,
                                   bool more_is_better);

}  // namespace impart::study
