#include "impart/statistics/variance.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::statistics {
namespace {

using Values = std::vector<double>;

TEST(Pairing, RemovesWhatTheSeedsDoToBoth) {
  const Pairing pairing = measure_pairing(Values{1, 2, 3, 4}, Values{2, 3, 4, 5});
  EXPECT_EQ(pairing.std_difference, 0);
  EXPECT_NEAR(*pairing.correlation, 1, 1e-15);
  EXPECT_EQ(*pairing.removed, 1);
  const Pairing opposed = measure_pairing(Values{1, 2, 3, 4}, Values{4, 3, 2, 1});
  EXPECT_NEAR(*opposed.correlation, -1, 1e-15);
  EXPECT_NEAR(*opposed.removed, -1, 1e-12);
}

TEST(Pairing, OfIndependentArmsRemovesNothing) {
  RandomStream random({.seed = 1, .purpose = Purpose("pairing-test")});
  Values a, b, shared;
  for (int i = 0; i < 4000; ++i) {
    a.push_back(random.normal());
    b.push_back(3 * random.normal());
    shared.push_back(a.back() + random.normal());
  }
  EXPECT_NEAR(*measure_pairing(a, b).removed, 0, 0.05);
  EXPECT_NEAR(*measure_pairing(a, shared).removed, 2.0 / 3, 0.05);
  EXPECT_NEAR(*measure_pairing(a, shared).correlation, std::sqrt(0.5), 0.05);
}

TEST(Pairing, SaysNothingWithoutSpreadOrPairs) {
  const Pairing one = measure_pairing(Values{1, 2}, Values{5, 5});
  EXPECT_FALSE(one.correlation);
  EXPECT_EQ(*one.removed, 0);
  EXPECT_FALSE(measure_pairing(Values{1, 1}, Values{5, 5}).removed);
  EXPECT_THROW(measure_pairing(Values{1}, Values{5}), DataError);
}

TEST(VarianceShare, HoldsTheTrueShareAsOftenAsItSays) {
  RandomStream random({.seed = 2, .purpose = Purpose("variance-test")});
  constexpr int kSamples = 3000;
  int held = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    Values part, whole;
    for (int i = 0; i < 8; ++i) part.push_back(0.5 * random.normal());
    for (int i = 0; i < 12; ++i) whole.push_back(random.normal());
    held += variance_share(describe(part), describe(whole))->interval.contains(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kSamples, 0.95, 0.012);
}

TEST(VarianceShare, NeedsTwoValuesOfBothAndASpread) {
  const Description two = describe(Values{1, 2});
  EXPECT_EQ(variance_share(describe(Values{1, 3}), two)->share, 4);
  EXPECT_EQ(variance_share(describe(Values{1, 1}), two)->share, 0);
  EXPECT_FALSE(variance_share(describe(Values{1}), two));
  EXPECT_FALSE(variance_share(two, describe(Values{1})));
  EXPECT_FALSE(variance_share(two, describe(Values{1, 1})));
}

}  // namespace
}  // namespace impart::statistics
