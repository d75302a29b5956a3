#include "impart/placement/norm_groups.h"

#include <gtest/gtest.h>

namespace impart::placement {
namespace {

TEST(NormGroups, AreNeighboursAndTheLastMayBeSmaller) {
  const NormGroups groups{.workers = 8, .size = 3};
  EXPECT_EQ(groups.group_of(5), 1U);
  EXPECT_EQ(groups.members(1).first, 3U);
  EXPECT_EQ(groups.members(1).count, 3U);
  EXPECT_EQ(groups.members(2).count, 2U);
  EXPECT_EQ(groups.count_among({.first = 2, .count = 2}), 2U);
  EXPECT_EQ(groups.count_among({.first = 0, .count = 8}), 3U);
}

TEST(NormGroups, AreCutWhereAProcessBeginsInsideOfOne) {
  const auto cut = [](std::uint32_t workers, std::uint32_t size, std::uint32_t processes) {
    return NormGroups{.workers = workers, .size = size, .processes = processes}.are_cut();
  };
  EXPECT_FALSE(cut(8, 8, 1));
  EXPECT_TRUE(cut(8, 8, 2));
  EXPECT_FALSE(cut(8, 4, 2));
  EXPECT_FALSE(cut(8, 1, 8));
  EXPECT_TRUE(cut(8, 3, 2));
  EXPECT_TRUE(cut(8, 2, 8));
  EXPECT_FALSE(cut(2, 2, 3)) << "which is refused elsewhere";
}

TEST(NormGroups, KnowWhichAreCut) {
  const NormGroups groups{.workers = 8, .size = 3, .processes = 2};  // 0 1 2 | 3 / 4 5 | 6 7
  EXPECT_FALSE(groups.is_cut(0));
  EXPECT_TRUE(groups.is_cut(1));
  EXPECT_FALSE(groups.is_cut(2));
}

}  // namespace
}  // namespace impart::placement
