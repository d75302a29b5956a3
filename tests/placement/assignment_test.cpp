#include "impart/placement/assignment.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/random.h"

namespace impart::placement {
namespace {

std::uint64_t sum_of(const std::vector<std::uint32_t>& weights,
                     const std::vector<std::uint32_t>& columns) {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < columns.size(); ++row)
    sum += weights[row * columns.size() + columns[row]];
  return sum;
}

TEST(Assignment, FindsTheLargestSumOfAllPermutations) {
  for (std::uint64_t number = 0; number < 500; ++number) {
    RandomStream random({.seed = number, .purpose = Purpose("test")});
    const auto size = static_cast<std::uint32_t>(1 + random.below(7));
    const std::uint64_t range = 1 + random.below(20);  // small ranges make ties
    std::vector<std::uint32_t> weights(size * size);
    for (auto& weight : weights) weight = static_cast<std::uint32_t>(random.below(range));

    std::vector<std::uint32_t> permutation(size);
    std::iota(permutation.begin(), permutation.end(), 0u);
    std::uint64_t largest = 0;
    do {
      largest = std::max(largest, sum_of(weights, permutation));
    } while (std::next_permutation(permutation.begin(), permutation.end()));

    auto columns = assign_for_largest_sum(weights, size);
    ASSERT_EQ(sum_of(weights, columns), largest) << number;
    std::sort(columns.begin(), columns.end());
    ASSERT_TRUE(std::equal(columns.begin(), columns.end(), permutation.begin()))
        << "every column once";
  }
}

}  // namespace
}  // namespace impart::placement
