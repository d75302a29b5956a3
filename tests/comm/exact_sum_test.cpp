#include "impart/comm/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::comm {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

using Rows = std::vector<std::vector<float>>;

std::vector<float> exact_sum(const Rows& rows) {
  const auto communicator = make_single_communicator();
  std::vector<float> sum(rows.empty() ? 0 : rows[0].size(), 17.0f);
  const std::vector<std::span<const float>> spans(rows.begin(), rows.end());
  exact_all_reduce_sum(*communicator, spans, sum);
  return sum;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](float value) { return std::bit_cast<std::uint32_t>(value); });
  return result;
}

/// Numbers of very different magnitudes, as gradients are.
Rows random_rows(std::size_t count, std::size_t length, std::uint64_t seed) {
  RandomStream random({.seed = seed, .purpose = Purpose("exact-sum-test")});
  Rows rows(count, std::vector<float>(length));
  for (auto& row : rows) {
    for (float& value : row) {
      value = static_cast<float>(random.normal() * std::exp(4 * random.normal()));
    }
  }
  return rows;
}

TEST(ExactSum, DoesNotDependOnTheOrderOfContributions) {
  Rows rows = random_rows(13, 10'000, 1);
  const auto expected = bits(exact_sum(rows));
  RandomStream random({.seed = 2, .purpose = Purpose("exact-sum-test")});
  for (int trial = 0; trial < 10; ++trial) {
    shuffle(std::span(rows), random);
    EXPECT_EQ(bits(exact_sum(rows)), expected);
  }
}

TEST(ExactSum, StaysWithinItsErrorBound) {
  const Rows rows = random_rows(9, 9'000, 3);
  const auto sum = exact_sum(rows);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t block = i / 4096 * 4096;
    float largest = 0;
    long double truth = 0;
    for (const auto& row : rows) {
      truth += row[i];
      for (std::size_t j = block; j < std::min<std::size_t>(block + 4096, row.size()); ++j) {
        largest = std::max(largest, std::fabs(row[j]));
      }
    }
    const float half_unit = (std::nextafter(std::fabs(sum[i]), kInf) - std::fabs(sum[i])) / 2;
    EXPECT_LE(std::fabs(sum[i] - truth), 9 * largest * 0x1p-42L + half_unit * (1 + 0x1p-28L));
  }
}

TEST(ExactSum, IsExactWhereAFloatSumIsNot) {
  EXPECT_EQ(exact_sum({{0x1p30f}, {1.0f}, {-0x1p30f}}), std::vector<float>{1.0f});
}

TEST(ExactSum, RoundsWhatIsTooSmallNextToItsBlockOnly) {
  std::vector<float> row(4097);
  row[0] = 0x1p60f;
  row[1] = 1.0f;     // below half of 2^-41 of its neighbour
  row[4096] = 1.0f;  // in a block of its own
  const auto sum = exact_sum({row});
  EXPECT_EQ(sum[0], 0x1p60f);
  EXPECT_EQ(sum[1], 0.0f);
  EXPECT_EQ(sum[4096], 1.0f);
}

TEST(ExactSum, OverflowsOnlyIfTheSumDoes) {
  const auto sum = exact_sum({{kLargest, kLargest}, {kLargest, kLargest}, {-kLargest, kLargest}});
  EXPECT_EQ(sum[0], kLargest);
  EXPECT_EQ(sum[1], kInf);
}

TEST(ExactSum, KnowsSubnormalNumbersAndZero) {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(exact_sum({{kTiny, 0.0f, 3 * kTiny}, {kTiny, -0.0f, -kTiny}}),
            (std::vector<float>{2 * kTiny, 0.0f, 2 * kTiny}));
  EXPECT_EQ(bits(exact_sum({{-0.0f}})), bits({0.0f}));
}

TEST(ExactSum, GivesNotFiniteElementsTheirOwnResultAndSparesTheirBlock) {
  const Rows rows = {{kNan, kInf, -kInf, kInf, 1.0f, kNan}, {1.0f, 1.0f, -kInf, -kInf, 2.0f, kInf}};
  const auto sum = exact_sum(rows);
  EXPECT_EQ(bits({sum[0], sum[3], sum[5]}), bits({kNan, kNan, kNan}));
  EXPECT_EQ(sum[1], kInf);
  EXPECT_EQ(sum[2], -kInf);
  EXPECT_EQ(sum[4], 3.0f);
}

TEST(ExactSum, FindsNotFiniteElementsInEveryBlock) {
  std::vector<float> row(300'000, 1.0f);
  for (const std::size_t i : {0, 4'095, 8'192, 262'143, 262'144, 299'999}) row[i] = kInf;
  EXPECT_EQ(exact_sum({row}), row);
}

TEST(ExactSum, MayBeWrittenOverAContribution) {
  Rows rows = random_rows(3, 5'000, 5);
  rows[1][4'500] = kInf;
  const auto expected = bits(exact_sum(rows));
  const std::vector<std::span<const float>> spans(rows.begin(), rows.end());
  exact_all_reduce_sum(*make_single_communicator(), spans, rows[1]);
  EXPECT_EQ(bits(rows[1]), expected);
}

TEST(ExactSum, OfNothingIsZero) {
  std::vector<float> sum = {5.0f, kNan};
  exact_all_reduce_sum(*make_single_communicator(), {}, sum);
  EXPECT_EQ(sum, (std::vector<float>{0.0f, 0.0f}));
  exact_all_reduce_sum(*make_single_communicator(), {}, {});
}

TEST(ExactSum, AddsAMillionOfTheLargestWithoutOverflow) {
  const std::vector<float> one = {kLargest}, minus_one = {-kLargest};
  std::vector<std::span<const float>> spans(1 << 19, one);
  spans.resize(1 << 20, minus_one);
  std::vector<float> sum(1);
  exact_all_reduce_sum(*make_single_communicator(), spans, sum);
  EXPECT_EQ(sum[0], 0.0f);
  spans.assign(1 << 20, std::span(one));
  exact_all_reduce_sum(*make_single_communicator(), spans, sum);
  EXPECT_EQ(sum[0], kInf);
}

TEST(ExactSum, RefusesWrongLengthsAndTooManyContributions) {
  const std::vector<float> one(1), two(2);
  const std::vector<std::span<const float>> unequal = {one, two};
  const std::vector<std::span<const float>> many((1 << 20) + 1, one);
  std::vector<float> sum(1);
  EXPECT_THROW(exact_all_reduce_sum(*make_single_communicator(), unequal, sum), ConfigError);
  EXPECT_THROW(exact_all_reduce_sum(*make_single_communicator(), many, sum), ConfigError);
}

}  // namespace
}  // namespace impart::comm
