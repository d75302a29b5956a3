#include "impart/core/scores.h"

#include <limits>

#include <gtest/gtest.h>

namespace impart {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(FiniteScores, AreAViewWhenAllIsFinite) {
  const std::vector<float> values = {1, -2, 3};
  const FiniteScores finite(values);
  EXPECT_EQ(finite.replaced(), 0u);
  finite.view().visit([&](auto view) {
    EXPECT_EQ(static_cast<const void*>(view.data()), static_cast<const void*>(values.data()));
  });
}

TEST(FiniteScores, CountNaNAndInfinitiesAsTheLargestFiniteScore) {
  const std::vector<float> values = {1, kNaN, 3, kInfinity, -kInfinity};
  const FiniteScores finite(values);
  EXPECT_EQ(finite.replaced(), 3u);
  for (const std::uint64_t i : {1, 2, 3, 4}) EXPECT_EQ(finite.view()[ExampleId{i}], 3.0) << i;
  EXPECT_EQ(finite.view()[ExampleId{0}], 1.0);
}

TEST(FiniteScores, AreZeroWhenNothingIsFinite) {
  const std::vector<double> values = {double{kNaN}, double{kInfinity}};
  const FiniteScores finite(values);
  EXPECT_EQ(finite.view()[ExampleId{0}], 0.0);
  EXPECT_EQ(finite.view()[ExampleId{1}], 0.0);
}

}  // namespace
}  // namespace impart
