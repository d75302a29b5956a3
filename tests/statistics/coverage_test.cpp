// How often an interval for a mean holds the true mean, by simulation. 95 % is promised.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/statistics/interval.h"

namespace impart::statistics {
namespace {

enum class Shape { kNormal, kLaplace, kSkewed };

double draw(Shape shape, RandomStream& random) {
  switch (shape) {
    case Shape::kNormal:
      return random.normal();
    case Shape::kLaplace:
      return random.exponential() - random.exponential();
    case Shape::kSkewed:
      return random.exponential() - 1;
  }
  return 0;
}

/// The share of samples of n values, with true mean 0, whose interval holds 0.
double coverage(std::size_t n, Shape shape, const IntervalSpec& spec, int samples = 4000) {
  RandomStream random({.seed = n, .purpose = Purpose("coverage-test")});
  IntervalSpec fresh = spec;
  std::vector<double> values(n);
  int held = 0;
  for (int sample = 0; sample < samples; ++sample) {
    for (double& value : values) value = draw(shape, random);
    ++fresh.seed;
    held += mean_interval(values, fresh).contains(0) ? 1 : 0;
  }
  return static_cast<double>(held) / samples;
}

TEST(Coverage, OfTheReportedIntervalIsRightForNormalDataOfAnySize) {
  for (const std::size_t n : {2u, 3u, 5u, 10u, 20u, 40u}) {
    const double held = coverage(n, Shape::kNormal, {});
    EXPECT_GE(held, 0.93) << "n = " << n;
    EXPECT_LE(held, 0.97) << "n = " << n;
  }
}

TEST(Coverage, OfTheReportedIntervalIsRightForHeavyTails) {
  for (const std::size_t n : {10u, 20u}) {
    const double held = coverage(n, Shape::kLaplace, {});
    EXPECT_GE(held, 0.93) << "n = " << n;
    EXPECT_LE(held, 0.97) << "n = " << n;
  }
}

TEST(Coverage, FollowsTheConfidenceAskedFor) {
  EXPECT_NEAR(coverage(10, Shape::kNormal, {.confidence = 0.8}), 0.8, 0.02);
  EXPECT_NEAR(coverage(10, Shape::kNormal, {.confidence = 0.99}), 0.99, 0.01);
}

// The reason why BCa is not the default. If these fail because BCa got better, it may become it.
TEST(Coverage, OfBcaIsTooLowForTheSizesOfStudies) {
  const IntervalSpec bca{.kind = IntervalKind::kBca, .resamples = 1000};
  EXPECT_NEAR(coverage(10, Shape::kNormal, bca), 0.895, 0.02);
  for (const Shape shape : {Shape::kLaplace, Shape::kSkewed}) {
    EXPECT_LT(coverage(10, shape, bca), coverage(10, shape, {}));
  }
}

TEST(Coverage, OfBcaIsRightForManyValues) {
  const IntervalSpec bca{.kind = IntervalKind::kBca, .resamples = 1000};
  const double held = coverage(80, Shape::kNormal, bca, 1000);
  EXPECT_GE(held, 0.925);
  EXPECT_LE(held, 0.965);
}

}  // namespace
}  // namespace impart::statistics
