#include "impart/store/extents.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/random.h"

namespace impart::store {
namespace {

TEST(Extents, UsesFreedPlacesOfTheSameSizeAgain) {
  ExtentAllocator extents;
  std::vector<Extent> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(extents.allocate(100));
  for (int round = 0; round < 50; ++round) {
    for (const int i : {1, 4, 7}) extents.free(taken[i]);
    for (const int i : {7, 4, 1}) taken[i] = extents.allocate(100);
  }
  EXPECT_EQ(extents.end(), 1'000u);
}

TEST(Extents, JoinsNeighboursThatAreFree) {
  ExtentAllocator extents;
  const Extent a = extents.allocate(10), b = extents.allocate(20), c = extents.allocate(30);
  extents.allocate(5);
  extents.free(a);
  extents.free(c);
  extents.free(b);
  EXPECT_EQ(extents.allocate(60), (Extent{0, 60}));
}

TEST(Extents, GivesUpTheEndOfTheFile) {
  ExtentAllocator extents;
  const Extent a = extents.allocate(10), b = extents.allocate(20), c = extents.allocate(30);
  extents.free(b);
  extents.free(c);
  EXPECT_EQ(extents.end(), 10u);
  extents.free(a);
  EXPECT_EQ(extents.end(), 0u);
}

TEST(Extents, TakesTheSmallestPlaceThatFits) {
  ExtentAllocator extents;
  const Extent large = extents.allocate(100);
  extents.allocate(1);
  const Extent small = extents.allocate(40);
  extents.allocate(1);
  extents.free(large);
  extents.free(small);
  EXPECT_EQ(extents.allocate(30).offset, small.offset);
}

TEST(Extents, NothingTakesNoPlace) {
  ExtentAllocator extents;
  EXPECT_EQ(extents.allocate(0).size, 0u);
  extents.free({});
  EXPECT_EQ(extents.end(), 0u);
}

TEST(Extents, RefusesToReserveWhatIsTaken) {
  ExtentAllocator extents;
  EXPECT_TRUE(extents.reserve({10, 10}));
  EXPECT_TRUE(extents.reserve({0, 4}));
  for (const Extent overlapping : {Extent{3, 2}, {9, 2}, {19, 5}, {0, 30}, {12, 2}}) {
    EXPECT_FALSE(extents.reserve(overlapping)) << overlapping.offset;
  }
  EXPECT_EQ(extents.allocate(6), (Extent{4, 6}));
}

/// Against a map of bytes.
TEST(Extents, NeverHandsOutAByteTwice) {
  RandomStream random({.seed = 1, .purpose = Purpose("extents-test")});
  ExtentAllocator extents;
  std::vector<Extent> taken;
  std::vector<bool> used(100'000);
  for (int step = 0; step < 5'000; ++step) {
    if (!taken.empty() && random.below(2) == 0) {
      std::swap(taken[random.below(taken.size())], taken.back());
      const Extent gone = taken.back();
      taken.pop_back();
      extents.free(gone);
      for (std::uint64_t i = gone.offset; i < gone.end(); ++i) used[i] = false;
      continue;
    }
    const Extent extent = extents.allocate(1 + random.below(60));
    ASSERT_LE(extent.end(), extents.end());
    for (std::uint64_t i = extent.offset; i < extent.end(); ++i) {
      ASSERT_FALSE(used[i]);
      used[i] = true;
    }
    taken.push_back(extent);
  }
  std::uint64_t last = 0;
  for (const Extent& extent : taken) last = std::max(last, extent.end());
  EXPECT_EQ(extents.end(), last);
}

}  // namespace
}  // namespace impart::store
