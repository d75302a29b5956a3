#include "impart/placement/expected_visits.h"

#include <algorithm>
#include <cmath>
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

TEST(ExpectedVisits, AreMoreForHarderExamplesWithInfobatch) {
  Placement placement = placement_with("infobatch");
  observe_losses(placement);
  const std::vector<float> visits = expected_visits(placement, 0);
  ASSERT_EQ(visits.size(), kExpectedExamples);
  double easy = 0, hard = 0;
  for (std::uint64_t i = 0; i < kExpectedExamples; i += 2) {
    easy += visits[i] / (kExpectedExamples / 2.0);
    hard += visits[i + 1] / (kExpectedExamples / 2.0);
    EXPECT_GE(visits[i + 1], 0.875f);
  }
  // Of the half around a hard example a share of ln 2 is hard in the mean, around an easy one the
  // rest; rounding up adds half a level.
  const double around_hard = (1 + std::log(2)) / 2 + 1.0 / 128;
  EXPECT_NEAR(hard, (1 + around_hard) / 2, 0.005);
  EXPECT_NEAR(easy, (0.5 + 1.5 - around_hard + 1.0 / 64) / 2, 0.005);
  EXPECT_EQ(visits, expected_visits(placement, 0));
}

/// Whose visits follow from the scores alone, and so do not depend on chance.
LaterVisits visiting(const std::vector<float>& scores, const std::vector<bool>& is_visited) {
  return {.select =
              [is_visited](std::uint32_t) {
                std::vector<std::vector<ExampleId>> lists(1);
                for (std::uint64_t i = 0; i < is_visited.size(); ++i) {
                  if (is_visited[i]) lists[0].push_back(ExampleId{i});
                }
                return Selected{.visits = parts_of(lists)};
              },
          .first = 1,
          .last = 3,
          .examples = scores.size(),
          .scores = scores};
}

Parts all_of(std::uint64_t examples) {
  return Partition(std::vector<WorkerId>(examples, WorkerId{0}), 1).parts();
}

TEST(ExpectedVisits, AreHalfThoseOfTheExamplesAround) {
  const std::vector<float> scores = {4, 1, 3, 2};
  EXPECT_EQ(expected_visits(visiting(scores, {true, false, true, false}), all_of(4)),
            (std::vector<float>{(1 + 43.0f / 64) / 2, 22.0f / 64 / 2, 0.75f, 0.25f}));
}

TEST(ExpectedVisits, FallWithTheScoreWhereTheEasiestAreVisited) {
  const std::vector<float> scores = {4, 1, 3, 2};
  const auto visits = expected_visits(visiting(scores, {false, true, false, true}), all_of(4));
  EXPECT_GT(visits[1], visits[0]);
}

TEST(ExpectedVisits, AreAlikeForAllOfWhichNothingIsKnown) {
  const std::vector<float> visits = expected_visits(placement_with("infobatch"), 0);
  EXPECT_EQ(visits, std::vector<float>(kExpectedExamples, 1.0f));
}

TEST(ExpectedVisits, AreCountedWhereASelectionLooksAtNothing) {
  LaterVisits later = visiting({0, 0}, {true, false});
  later.scores = {};
  EXPECT_EQ(expected_visits(later, all_of(2)), (std::vector<float>{1, 0}));
}

TEST(ExpectedVisits, AreNoneOfWhatIsGone) {
  const std::vector<float> scores = {4, 1, 3, 2};
  const std::vector<ExampleId> gone = {ExampleId{1}};
  LaterVisits later = visiting(scores, {true, false, true, true});
  later.gone = gone;
  EXPECT_EQ(expected_visits(later, all_of(4)), (std::vector<float>{1, 0, 1, 1}));
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
