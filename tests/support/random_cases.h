#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/core/random.h"
#include "impart/partition/partition.h"

namespace impart::testing {

/// One random input of a heuristic or exchange, made to hit edge cases often.
struct RandomCase {
  std::uint64_t number;
  std::uint32_t workers;
  std::vector<float> importance;
  std::vector<std::uint32_t> labels;
  Partition previous;  ///< random, of the same number of workers
  double fraction;

  std::string describe() const {
    return fmt::format("case {}: N = {}, n = {}, Q = {}", number, importance.size(), workers,
                       fraction);
  }
};

inline std::vector<float> make_importance(std::uint64_t examples, RandomStream& random) {
  std::vector<float> values(examples);
  const std::uint64_t kind = random.below(7);
  for (float& value : values) {
    const auto noise = static_cast<float>(random.exponential());
    const auto small = static_cast<float>(random.below(4));
    switch (kind) {
      case 0:
        value = noise;
        break;
      case 1:
        value = small;
        break;  // ties
      case 2:
        value = 0;
        break;  // zeros
      case 3:
        value = static_cast<float>(random.normal());
        break;  // negatives
      case 4:
        value = small == 0 ? std::numeric_limits<float>::quiet_NaN() : noise;
        break;
      case 5:
        value = small == 0 ? std::numeric_limits<float>::infinity() : -noise;
        break;
      default:
        value = std::numeric_limits<float>::quiet_NaN();
        break;
    }
  }
  return values;
}

/// Case number `number`: N from 0 to 200, n from 1 to 20, so N < n, odd n and N mod n ≠ 0 are
/// usual.
inline RandomCase make_case(std::uint64_t number) {
  RandomStream random({.seed = number, .purpose = Purpose("test")});
  const std::uint64_t examples = random.below(4) == 0 ? random.below(8) : random.below(201);
  const auto workers = static_cast<std::uint32_t>(1 + random.below(20));
  std::vector<float> importance = make_importance(examples, random);
  std::vector<std::uint32_t> labels(examples);
  for (std::uint32_t& label : labels) label = static_cast<std::uint32_t>(random.below(5)) * 1000;
  std::vector<WorkerId> owners(examples);
  for (WorkerId& owner : owners)
    owner = WorkerId{static_cast<std::uint32_t>(random.below(workers))};
  const std::uint64_t tenths = random.below(11);
  return {number,
          workers,
          std::move(importance),
          std::move(labels),
          Partition(std::move(owners), workers),
          static_cast<double>(tenths) / 10};
}

inline constexpr std::uint64_t kCases = 3000;

}  // namespace impart::testing
