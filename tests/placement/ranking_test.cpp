#include "impart/placement/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/random.h"

namespace impart::placement {
namespace {

template <class Score>
std::vector<ExampleId> rank_naively(const std::vector<Score>& scores) {
  std::vector<ExampleId> order(scores.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = ExampleId{i};
  std::stable_sort(order.begin(), order.end(),
                   [&](ExampleId a, ExampleId b) { return scores[index(a)] > scores[index(b)]; });
  return order;
}

template <class Score>
std::vector<Score> make(std::uint64_t size, std::uint64_t seed, auto draw) {
  RandomStream random({.seed = seed, .purpose = Purpose("test")});
  std::vector<Score> scores(size);
  for (Score& score : scores) score = static_cast<Score>(draw(random));
  return scores;
}

/// Distributions that fill the radix sort's buckets very differently.
const std::vector<double (*)(RandomStream&)> kDistributions = {
    [](RandomStream& r) { return r.uniform(); },
    [](RandomStream& r) { return r.normal(); },
    [](RandomStream& r) { return std::ldexp(r.normal(), static_cast<int>(r.below(240)) - 120); },
    [](RandomStream& r) { return static_cast<double>(r.below(3)) - 1; },
    [](RandomStream&) { return 2.5; },
    [](RandomStream& r) { return r.below(1000) == 0 ? 1e30 : 1 + 1e-6 * r.uniform(); },
    [](RandomStream& r) { return r.below(2) == 0 ? 0.0 : -0.0; },
};

TEST(Ranking, EqualsAStableSortForEveryDistributionAndSize) {
  for (const std::uint64_t size : {0, 1, 2, 255, 256, 5000, 100'000}) {
    for (std::size_t d = 0; d < kDistributions.size(); ++d) {
      const auto floats = make<float>(size, d, kDistributions[d]);
      ASSERT_EQ(rank_by_importance(floats), rank_naively(floats)) << size << ' ' << d;
      const auto doubles = make<double>(size, d, kDistributions[d]);
      ASSERT_EQ(rank_by_importance(doubles), rank_naively(doubles)) << size << ' ' << d;
    }
  }
}

TEST(Ranking, TellsDoublesApartThatAreTheSameFloat) {
  const std::vector<double> scores = {1.0, 1.0 + 1e-12, 1.0 - 1e-12};
  EXPECT_EQ(rank_by_importance(scores), (std::vector{ExampleId{1}, ExampleId{0}, ExampleId{2}}));
}

TEST(Ranking, TiesNaNWithTheLargestFiniteScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores = {1, 5, nan, 2, -std::numeric_limits<float>::infinity(), 5};
  EXPECT_EQ(rank_by_importance(scores), (std::vector{ExampleId{1}, ExampleId{2}, ExampleId{4},
                                                     ExampleId{5}, ExampleId{3}, ExampleId{0}}));
}

TEST(Ranking, OrdersTheSmallestAndLargestNumbers) {
  using L = std::numeric_limits<float>;
  const std::vector<float> scores = {0,        L::denorm_min(), -L::denorm_min(),
                                     L::max(), L::lowest(),     L::min()};
  EXPECT_EQ(rank_by_importance(scores), rank_naively(scores));
}

}  // namespace
}  // namespace impart::placement
