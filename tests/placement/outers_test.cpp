#include "impart/placement/outers.h"

#include <gtest/gtest.h>

namespace impart::placement {
namespace {

/// A model of one weight, taken through outer steps by the factors of a rule.
struct OneWeight {
  OuterRule* rule;
  OuterRates rates;
  double weight = 2, velocity = 0;

  double step(double mean) {
    const OuterFactors f = rule(rates);
    const double change = weight - mean;
    velocity = f.keep * velocity + f.gain * change;
    weight = mean + f.back * change + f.push * velocity;
    return weight;
  }
};

TEST(Outers, AverageIsTheMean) {
  OneWeight model{keep_mean, {.lr = 1, .momentum = 0}};
  EXPECT_EQ(model.step(1.7), 1.7);
  EXPECT_EQ(model.step(1.3), 1.3);
  EXPECT_TRUE(keep_mean({.lr = 0.5, .momentum = 0.5}).is_mean());
}

TEST(Outers, NesterovIsDiloco) {
  OneWeight model{step_with_nesterov, {.lr = 0.7, .momentum = 0.9}};
  double weight = 2, velocity = 0;
  for (const double mean : {1.7, 1.5, 1.6}) {
    const double change = weight - mean;
    velocity = 0.9 * velocity + change;
    weight -= 0.7 * (change + 0.9 * velocity);
    EXPECT_NEAR(model.step(mean), weight, 1e-12);
  }
  EXPECT_TRUE(step_with_nesterov({.lr = 1, .momentum = 0}).is_mean());
  EXPECT_FALSE(step_with_nesterov({.lr = 0.9, .momentum = 0}).is_mean());
}

TEST(Outers, SlowMomentumCountsInUnitsOfTheWorkersRate) {
  OneWeight model{step_with_slow_momentum, {.lr = 0.8, .momentum = 0.6}};
  double weight = 2, velocity = 0, rate = 0.1;
  for (const double mean : {1.7, 1.5, 1.6}) {
    velocity = 0.6 * velocity + (weight - mean) / rate;
    weight -= 0.8 * rate * velocity;
    model.rates.inner_lr = rate;
    EXPECT_NEAR(model.step(mean), weight, 1e-12);
    rate /= 2;
  }
}

TEST(Outers, SlowMomentumOfWorkersThatStandStillIsTheMean) {
  const OuterFactors factors = step_with_slow_momentum({.lr = 1, .momentum = 0.7, .inner_lr = 0});
  EXPECT_TRUE(factors.is_mean());
  EXPECT_EQ(factors.keep, 1);
  EXPECT_EQ(factors.gain, 0);
}

}  // namespace
}  // namespace impart::placement
