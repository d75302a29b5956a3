#include "impart/study/halving.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::study {

std::vector<std::uint32_t> rung_epochs(const SearchSpec& search, std::uint32_t epochs) {
  if (search.min_epochs > epochs) {
    throw ConfigError(
        fmt::format("search.min_epochs is {}, but epochs is {}", search.min_epochs, epochs));
  }
  std::vector<std::uint32_t> rungs;
  for (std::uint64_t length = search.min_epochs; length < epochs; length *= search.eta) {
    rungs.push_back(static_cast<std::uint32_t>(length));
  }
  rungs.push_back(epochs);
  return rungs;
}

std::vector<std::string> keep_best(std::vector<CandidateScore> candidates, std::size_t count,
                                   bool more_is_better) {
  std::erase_if(candidates, [](const CandidateScore& candidate) { return !candidate.mean; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const CandidateScore& a, const CandidateScore& b) {
                     return more_is_better ? *a.mean > *b.mean : *a.mean < *b.mean;
                   });
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < std::min(count, candidates.size()); ++i) {
    kept.push_back(candidates[i].arm);
  }
  return kept;
}

}  // namespace impart::study
