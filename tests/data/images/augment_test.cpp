#include "impart/data/images/augment.h"

#include <algorithm>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::data {
namespace {

TEST(CropFlip, SurvivesPacking) {
  for (int right = -kLargestShift; right <= kLargestShift; ++right) {
    for (const bool mirrored : {false, true}) {
      const CropFlip choice{.right = right, .down = -right / 2, .mirrored = mirrored};
      ASSERT_EQ(unpack_crop_flip(pack(choice)), choice);
    }
  }
}

TEST(Augmentations, OfNoneHaveNoPlan) {
  EXPECT_TRUE(find_entry(kAugmentations, "augmentation", "none").function({.examples = 9}).empty());
}

TEST(Augmentations, PlanEveryExampleOrNone) {
  for (const Entry<Augmentation>& entry : kAugmentations) {
    const AugmentSpec spec{.seed = 1, .epoch = 2, .examples = 33};
    const AugmentPlan plan = entry.function(spec);
    EXPECT_TRUE(plan.empty() || plan.size() == 33) << entry.name;
    EXPECT_EQ(plan, entry.function(spec)) << entry.name;
  }
}

TEST(CropFlipPlan, UsesWordIForExampleI) {
  const AugmentPlan plan = crop_and_flip({.seed = 11, .epoch = 3, .examples = 1000});
  RandomStream random({.seed = 11, .purpose = Purpose("augment"), .epoch = 3});
  for (const std::int32_t packed : plan) {
    const std::uint64_t choice = std::uint64_t{random.next32()} * 162 >> 32;
    const auto place = static_cast<int>(choice / 2);
    ASSERT_EQ(
        unpack_crop_flip(packed),
        (CropFlip{.right = place % 9 - 4, .down = place / 9 - 4, .mirrored = choice % 2 == 1}));
  }
}

TEST(CropFlipPlan, DoesNotDependOnTheNumberOfExamples) {
  const AugmentPlan few = crop_and_flip({.seed = 1, .examples = 10});
  const AugmentPlan many = crop_and_flip({.seed = 1, .examples = 1000});
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(CropFlipPlan, ChangesWithSeedAndEpoch) {
  const AugmentPlan plan = crop_and_flip({.seed = 1, .epoch = 1, .examples = 100});
  EXPECT_NE(plan, crop_and_flip({.seed = 2, .epoch = 1, .examples = 100}));
  EXPECT_NE(plan, crop_and_flip({.seed = 1, .epoch = 2, .examples = 100}));
}

TEST(CropFlipPlan, MakesAllChoicesEquallyOften) {
  std::map<std::int32_t, int> counts;
  for (const std::int32_t packed : crop_and_flip({.seed = 5, .examples = 162000})) ++counts[packed];
  EXPECT_EQ(counts.size(), 162u);
  for (const auto& [packed, count] : counts) EXPECT_NEAR(count, 1000, 160) << packed;
}

TEST(CropFlipPlan, WithoutPaddingOnlyMirrors) {
  for (const std::int32_t packed : crop_and_flip({.seed = 5, .examples = 100, .padding = 0})) {
    const CropFlip choice = unpack_crop_flip(packed);
    EXPECT_EQ(choice.right, 0);
    EXPECT_EQ(choice.down, 0);
  }
}

TEST(ShiftMirrorPlan, ShowsEveryExampleFromBothSidesInTwoEpochs) {
  const AugmentPlan even = shift_and_mirror({.seed = 3, .epoch = 4, .examples = 1000});
  const AugmentPlan odd = shift_and_mirror({.seed = 3, .epoch = 5, .examples = 1000});
  int mirrored = 0;
  for (std::size_t i = 0; i < even.size(); ++i) {
    ASSERT_NE(unpack_crop_flip(even[i]).mirrored, unpack_crop_flip(odd[i]).mirrored) << i;
    mirrored += unpack_crop_flip(even[i]).mirrored;
  }
  EXPECT_NEAR(mirrored, 500, 80);
}

TEST(ShiftMirrorPlan, ShiftsByUpToTwoPixels) {
  std::map<std::pair<int, int>, int> counts;
  for (const std::int32_t packed : shift_and_mirror({.seed = 3, .examples = 25000})) {
    const CropFlip choice = unpack_crop_flip(packed);
    ++counts[{choice.right, choice.down}];
  }
  EXPECT_EQ(counts.size(), 25u);
  EXPECT_EQ(counts.begin()->first, std::pair(-2, -2));
  for (const auto& [shift, count] : counts) EXPECT_NEAR(count, 1000, 160) << shift.first;
}

TEST(CropFlipPlan, RejectsPaddingItCannotPack) {
  EXPECT_THROW(crop_and_flip({.examples = 1, .padding = -1}), ConfigError);
  EXPECT_THROW(crop_and_flip({.examples = 1, .padding = 128}), ConfigError);
}

}  // namespace
}  // namespace impart::data
