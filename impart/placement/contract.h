#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/partition.h"

namespace impart::placement {

// What every heuristic promises, as checks over thousands of random inputs: for the rows of
// kHeuristics, and for a heuristic of your own.

/// One random input of a heuristic or exchange, made to hit edge cases often: N from 0 to 200, n
/// from 1 to 20, so that N < n, odd n and N mod n ≠ 0 are usual; importance with ties, zeros,
/// negative numbers, NaN and infinities.
struct ContractCase {
  std::uint64_t number;
  std::uint32_t workers;
  std::vector<float> importance;
  std::vector<std::uint32_t> labels;
  Partition previous;  ///< random, of the same number of workers
  double fraction;     ///< for exchanges

  /// "case 17: N = 4, n = 7, Q = 0.3"
  std::string describe() const;
};

/// Equal numbers give equal cases.
ContractCase make_contract_case(std::uint64_t number);

inline constexpr std::uint64_t kContractCases = 3000;

/// Looks for an input for which a promise does not hold, sticky to the case's partition or not: ""
/// if there is none, else the input and what is wrong with the answer.
using PromiseCheck = std::string(const std::function<Heuristic>& heuristic, bool sticky);

PromiseCheck check_cover, check_repetition, check_doubles, check_refusals;

inline constexpr Entry<PromiseCheck> kHeuristicPromises[] = {
    {"cover", "every example has an owner, and sizes differ by at most 1", check_cover},
    {"repetition", "equal inputs give equal partitions", check_repetition},
    {"doubles", "doubles decide as the same floats do", check_doubles},
    {"refusals", "a spec that cannot be met is a ConfigError", check_refusals},
};
static_assert(names_are_unique(kHeuristicPromises));

/// Runs all checks, sticky and not, and gives one line for each that found something; none: the
/// heuristic keeps its promises. What the heuristic throws is found, too. 8 406 calls: 0.15 s
/// for stripes.
std::vector<std::string> find_breaches(const std::function<Heuristic>& heuristic);

}  // namespace impart::placement
