#include "impart/core/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace impart {
namespace {

RandomStream stream(std::uint64_t seed = 1, std::uint32_t epoch = 0,
                    WorkerId worker = kAllWorkers) {
  return RandomStream({.seed = seed, .purpose = Purpose("test"), .epoch = epoch, .worker = worker});
}

// The known answers that the authors of Philox publish with Random123 (kat_vectors).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DependsOnEveryPartOfItsName) {
  const auto first = [](const StreamName& name) { return RandomStream(name).next64(); };
  const StreamName name{.seed = 1, .purpose = Purpose("order"), .epoch = 2, .worker = WorkerId{3}};
  const std::uint64_t number = first(name);
  EXPECT_EQ(first(name), number);
  StreamName other = name;
  other.seed = 1 + (std::uint64_t{1} << 32);
  EXPECT_NE(first(other), number);
  other = name;
  other.purpose = Purpose("partition");
  EXPECT_NE(first(other), number);
  other = name;
  other.epoch = 3;
  EXPECT_NE(first(other), number);
  other = name;
  other.worker = kAllWorkers;
  EXPECT_NE(first(other), number);
}

TEST(RandomStream, DrawsBelowABoundWithoutBias) {
  auto random = stream();
  constexpr std::uint64_t kBound = 6;
  std::vector<double> counts(kBound);
  constexpr int kDraws = 60'000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(kBound)];
  double chi_squared = 0;
  for (const double count : counts) chi_squared += (count - 10'000) * (count - 10'000) / 10'000;
  EXPECT_LT(chi_squared, 20.5);  // 99.9 % quantile with 5 degrees of freedom
}

TEST(Philox, GivesManyBlocksAsItGivesOne) {
  const PhiloxCounter first{0xfffffff8, 7, 8, 9};  // its first word overflows
  const PhiloxKey key{10, 11};
  PhiloxWords words{};
  philox4x32_10_blocks(first, key, words);
  for (std::uint32_t block = 0; block < kPhiloxBlocks; ++block) {
    const PhiloxCounter expected = philox4x32_10({first[0] + block, 7, 8, 9}, key);
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_EQ(words[4 * block + i], expected[i]) << block;
  }
}

TEST(RandomStream, RejectsTheSurplusOfLargeBounds) {
  // Just over half of 2^32: nearly half of all words must be rejected.
  auto random = stream();
  const std::uint64_t bound = (std::uint64_t{1} << 31) + 1;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t drawn = random.below(bound);
    ASSERT_LT(drawn, bound);
    sum += static_cast<double>(drawn) / static_cast<double>(bound);
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.015);
}

TEST(RandomStream, DrawsBelowBoundsBeyond32Bits) {
  auto random = stream();
  const std::uint64_t bound = std::uint64_t{3} << 40;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t drawn = random.below(bound);
    ASSERT_LT(drawn, bound);
    sum += static_cast<double>(drawn) / static_cast<double>(bound);
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.015);
  EXPECT_EQ(random.below(1), 0u);
}

TEST(RandomStream, HasTheMomentsOfItsDistributions) {
  constexpr int kDraws = 200'000;
  const auto moments = [](auto draw) {
    auto random = stream(7);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw(random);
      sum += x;
      squares += x * x;
    }
    return std::pair(sum / kDraws, squares / kDraws);
  };
  const auto [uniform_mean, uniform_squares] = moments([](RandomStream& r) { return r.uniform(); });
  EXPECT_NEAR(uniform_mean, 0.5, 0.003);
  EXPECT_NEAR(uniform_squares, 1.0 / 3, 0.003);
  const auto [wait_mean, wait_squares] = moments([](RandomStream& r) { return r.exponential(); });
  EXPECT_NEAR(wait_mean, 1, 0.012);
  EXPECT_NEAR(wait_squares, 2, 0.07);
  const auto [normal_mean, normal_squares] = moments([](RandomStream& r) { return r.normal(); });
  EXPECT_NEAR(normal_mean, 0, 0.012);
  EXPECT_NEAR(normal_squares, 1, 0.02);
}

TEST(PortableLog, AgreesWithTheLibrary) {
  auto random = stream();
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(random.open_uniform(), static_cast<int>(random.below(200)) - 100);
    ASSERT_NEAR(portable_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(PortableExp, AgreesWithTheLibrary) {
  auto random = stream();
  for (int i = 0; i < 100'000; ++i) {
    const double x = -700 * random.uniform() * random.uniform();
    ASSERT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(portable_exp(0), 1.0);
  EXPECT_EQ(portable_exp(-1e300), 0.0);
  EXPECT_EQ(portable_exp(-std::numeric_limits<double>::infinity()), 0.0);
}

TEST(NormalQuantile, IsTheInverseOfTheDistribution) {
  for (const double p : {1e-12, 0.001, 0.2, 0.5, 0.8, 0.999}) {
    EXPECT_NEAR(0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2)) / p, 1, 1e-12) << p;
  }
}

TEST(Shuffle, MakesEveryPermutationEquallyLikely) {
  std::vector<int> counts(6);
  auto random = stream(3);
  for (int i = 0; i < 12'000; ++i) {
    std::vector<int> items = {0, 1, 2};
    shuffle(std::span(items), random);
    ++counts[static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 2000.0) * (count - 2000.0) / 2000.0;
  EXPECT_LT(chi_squared, 20.5);
}

}  // namespace
}  // namespace impart
