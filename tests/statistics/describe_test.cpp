#include "impart/statistics/describe.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/statistics/ranks.h"

namespace impart::statistics {
namespace {

using Values = std::vector<double>;

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

TEST(Describe, OneValueHasNoSpread) {
  const Description d = describe(Values{4});
  EXPECT_EQ(d.n, 1u);
  EXPECT_EQ(d.mean, 4);
  EXPECT_TRUE(std::isnan(d.std));
  EXPECT_EQ(d.lower_quartile, 4);
  EXPECT_EQ(d.median, 4);
}

TEST(Describe, EqualValuesHaveExactlyTheirMeanAndNoSpread) {
  const Description d = describe(Values(7, 0.1));
  EXPECT_EQ(d.mean, 0.1);
  EXPECT_EQ(d.std, 0);
}

TEST(Describe, SurvivesHugeAndCloseValues) {
  EXPECT_EQ(describe(Values{1e308, 1e308}).mean, 1e308);
  EXPECT_DOUBLE_EQ(describe(Values{1e9, 1e9 + 1, 1e9 + 2}).std, 1);
}

TEST(Describe, NamesTheValueThatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of([&] {
              describe(Values{1, 2, nan, 4});
            }),
            "value 2 of 4 is nan, statistics need finite numbers");
  EXPECT_EQ(message_of([&] { require_finite(Values{-infinity}, "stripes"); }),
            "value 0 of 1 of stripes is -inf, statistics need finite numbers");
  EXPECT_EQ(message_of([] { describe(Values{}); }), "there are no values to describe");
}

TEST(Quantiles, AreInfiniteOnlyWhereTheyTouchInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(quantile_of_sorted(Values{1, 2, infinity}, 0.5), 2);
  EXPECT_EQ(quantile_of_sorted(Values{1, 2, infinity, infinity}, 0.5), infinity);
  EXPECT_EQ(quantile_of_sorted(Values{1, infinity, infinity}, 0.75), infinity);
  EXPECT_EQ(quantile_of_sorted(Values{1, 2, 4}, 1), 4);
}

TEST(Midranks, ShareTheMeanRankAmongTies) {
  EXPECT_EQ(midranks(Values{5, 1, 5, 0, 5}), (Values{4, 2, 4, 1, 4}));
  EXPECT_EQ(tie_correction(Values{5, 1, 5, 0, 5, 1}), 24 + 6);
}

}  // namespace
}  // namespace impart::statistics
