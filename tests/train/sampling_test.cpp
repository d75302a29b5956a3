#include "impart/train/use/sampling.h"

#include <array>

#include <gtest/gtest.h>

#include "impart/core/random.h"

namespace impart::train {
namespace {

const std::vector<float> kLogits = {0, 2, 1, 2, -1};

TEST(Sampling, GreedyTakesTheFirstOfTheMostProbable) {
  EXPECT_EQ(choose_token(kLogits, {.greedy = true}, 0.99), 1);
}

/// How often each token is chosen, of 10000 times.
std::array<int, 5> draw_often(const SamplingSpec& spec) {
  RandomStream random({.seed = 3, .purpose = Purpose("test")});
  std::array<int, 5> counts{};
  for (int i = 0; i < 10000; ++i) ++counts.at(choose_token(kLogits, spec, random.uniform()));
  return counts;
}

TEST(Sampling, DrawsAsOftenAsTheSoftmaxSays) {
  // exp(logit) = 1, 7.389, 2.718, 7.389, 0.368 of 18.864
  const auto counts = draw_often({});
  const double expected[] = {530, 3917, 1441, 3917, 195};
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_NEAR(counts[i], expected[i], 200) << i;
}

TEST(Sampling, TopKLeavesOnlyTheLargestAndOfEqualsTheFirst) {
  const auto one = draw_often({.top_k = 1});
  EXPECT_EQ(one[1], 10000);
  const auto three = draw_often({.top_k = 3});
  EXPECT_EQ(three[0] + three[4], 0);
  EXPECT_GT(three[2], 0);
}

TEST(Sampling, ALowTemperatureIsGreedyAndAHighOneUniform) {
  const auto cold = draw_often({.temperature = 0.01});
  EXPECT_EQ(cold[1] + cold[3], 10000);
  for (const int count : draw_often({.temperature = 1000})) EXPECT_NEAR(count, 2000, 200);
}

TEST(Sampling, NeverTakesATokenThatCannotBe) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(choose_token({never, 0, never}, {}, 0.9999999), 1);
  EXPECT_EQ(choose_token({never, 0, never}, {}, 0), 1);
}

}  // namespace
}  // namespace impart::train
