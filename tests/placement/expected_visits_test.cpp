#include "impart/placement/expected_visits.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace impart::placement {
namespace {

constexpr std::uint64_t kExpectedExamples = 400;

Placement placement_with(const char* selection) {
  PlacementSpec spec{.seed = 3, .workers = 2, .epochs = 30};
  spec.selection = find_entry(kSelections, "selection", selection);
  spec.selecting.share = 0.5;
  Placement placement(spec, {.examples = kExpectedExamples});
  placement.prepare_epoch(0, {});
  return placement;
}

/// Half of the examples have a loss of 1, the others of 3.
void observe_losses(Placement& placement) {
  std::vector<ExampleId> ids(kExpectedExamples);
  std::vector<float> losses(kExpectedExamples);
  for (std::uint64_t i = 0; i < kExpectedExamples; ++i) {
    ids[i] = ExampleId{i};
    losses[i] = i % 2 == 0 ? 1.0f : 3.0f;
  }
  placement.table().observe(0, ids, {.loss = losses});
}

TEST(ExpectedVisits, AreNotComputedWhereAllExamplesAreVisitedOnce) {
  EXPECT_TRUE(expected_visits(placement_with("all"), 0).empty());
}

TEST(ExpectedVisits, AreOneForHardAndHalfForEasyExamplesWithInfobatch) {
  Placement placement = placement_with("infobatch");
  observe_losses(placement);
  const std::vector<float> visits = expected_visits(placement, 0);
  ASSERT_EQ(visits.size(), kExpectedExamples);
  double easy = 0;
  for (std::uint64_t i = 0; i < kExpectedExamples; i += 2) {
    easy += visits[i] / (kExpectedExamples / 2.0);
    EXPECT_FLOAT_EQ(visits[i + 1], 1);
  }
  EXPECT_NEAR(easy, 0.5, 0.01);
  EXPECT_EQ(visits, expected_visits(placement, 0));
}

TEST(ExpectedVisits, EndWithTheRun) {
  EXPECT_TRUE(expected_visits(placement_with("infobatch"), 29).empty());
}

TEST(KeepsParts, IsTrueUntilANewPartitionComes) {
  const ScheduleSpec global{.epochs = 4, .interval = 1, .needs_importance = false};
  EXPECT_FALSE(keeps_parts_after(global, 0));
  EXPECT_FALSE(keeps_parts_after(global, 3)) << "the last is as the one before";
  const ScheduleSpec local{.epochs = 4, .interval = 0, .exchange = true, .needs_importance = false};
  EXPECT_TRUE(keeps_parts_after(local, 1));
  EXPECT_TRUE(keeps_parts_after(local, 3));
  const ScheduleSpec stripes{.epochs = 8, .warmup = 2, .interval = 3};
  EXPECT_FALSE(keeps_parts_after(stripes, 0));
  EXPECT_FALSE(keeps_parts_after(stripes, 1));
  EXPECT_TRUE(keeps_parts_after(stripes, 2));
  EXPECT_FALSE(keeps_parts_after(stripes, 4));
}

}  // namespace
}  // namespace impart::placement
