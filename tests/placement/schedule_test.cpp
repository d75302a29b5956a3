#include "impart/placement/schedule.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

using Kind = ScheduleEvent::Kind;

std::vector<ScheduleEvent> only(const ScheduleSpec& spec, Kind kind) {
  std::vector<ScheduleEvent> events;
  for (const ScheduleEvent& event : make_schedule(spec)) {
    if (event.kind == kind) events.push_back(event);
  }
  return events;
}

TEST(Schedule, LetsTheLastIntervalAbsorbTheRest) {
  const ScheduleSpec spec{.epochs = 100, .warmup = 20, .interval = 30, .ignore = 5};
  EXPECT_EQ(only(spec, Kind::kHeuristic),
            (std::vector<ScheduleEvent>{{20, Kind::kHeuristic, {5, 20}},
                                        {50, Kind::kHeuristic, {20, 50}}}));
  EXPECT_EQ(only(spec, Kind::kRandom).size(), 20u);
}

TEST(Schedule, OfVanillaTrainingRepartitionsEveryEpoch) {
  const auto events = make_schedule({.epochs = 3, .ignore = 5, .needs_importance = false});
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, Kind::kRandom);
  EXPECT_EQ(events[2].kind, Kind::kHeuristic);
}

TEST(Schedule, KeepsAStartThroughTheWarmUp) {
  const ScheduleSpec spec{
      .epochs = 6, .warmup = 3, .has_start = true, .interval = 2, .exchange = true};
  EXPECT_EQ(make_schedule(spec), (std::vector<ScheduleEvent>{{0, Kind::kStart, {}},
                                                             {3, Kind::kHeuristic, {0, 3}},
                                                             {4, Kind::kExchange, {}},
                                                             {5, Kind::kExchange, {}}}));
}

TEST(Schedule, WashesAStartOutIfAsked) {
  const ScheduleSpec spec{
      .epochs = 3, .warmup = 3, .has_start = true, .warmup_shuffle = true, .interval = 2};
  EXPECT_EQ(make_schedule(spec),
            (std::vector<ScheduleEvent>{
                {0, Kind::kStart, {}}, {1, Kind::kRandom, {}}, {2, Kind::kRandom, {}}}));
}

TEST(Schedule, OfLocalShufflingNeverRepartitions) {
  EXPECT_EQ(make_schedule({.epochs = 9, .interval = 0}),
            (std::vector<ScheduleEvent>{{0, Kind::kRandom, {}}}));
}

TEST(Schedule, ExchangesBeforeEveryOtherEpoch) {
  const ScheduleSpec spec{.epochs = 6, .warmup = 2, .interval = 2, .exchange = true};
  const auto events = only(spec, Kind::kExchange);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].epoch, 3u);
  EXPECT_EQ(events[1].epoch, 5u);
}

TEST(Schedule, MakesOneIntervalOfWhatIsShorterThanOne) {
  EXPECT_EQ(only({.epochs = 12, .warmup = 10, .interval = 30}, Kind::kHeuristic).size(), 1u);
  EXPECT_TRUE(only({.epochs = 10, .warmup = 10, .interval = 30}, Kind::kHeuristic).empty());
}

TEST(Schedule, WithoutAnEndRepartitionsEveryInterval) {
  const ScheduleSpec closed{.epochs = 9, .warmup = 1, .interval = 3, .exchange = true};
  ScheduleSpec open = closed;
  open.open_end = true;
  const auto starts = [](const ScheduleSpec& spec) {
    std::vector<std::uint32_t> epochs;
    for (const ScheduleEvent& event : only(spec, Kind::kHeuristic)) epochs.push_back(event.epoch);
    return epochs;
  };
  EXPECT_EQ(starts(closed), (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(starts(open), (std::vector<std::uint32_t>{1, 4, 7}));
  open.epochs = 1;
  EXPECT_EQ(event_at(open, 3001), (ScheduleEvent{3001, Kind::kHeuristic, {2998, 3001}}));
  EXPECT_EQ(event_at(open, 3002)->kind, Kind::kExchange);
  EXPECT_FALSE(event_at(closed, 9));
}

TEST(Schedule, OfAnEpochIsThatOfTheRun) {
  for (const ScheduleSpec& spec : {ScheduleSpec{.epochs = 20, .warmup = 3, .interval = 4},
                                   ScheduleSpec{.epochs = 20, .interval = 3, .exchange = true},
                                   ScheduleSpec{.epochs = 20, .interval = 0, .exchange = true}}) {
    std::vector<ScheduleEvent> events;
    for (std::uint32_t epoch = 0; epoch < 30; ++epoch) {
      if (const auto event = event_at(spec, epoch)) events.push_back(*event);
    }
    EXPECT_EQ(events, make_schedule(spec));
  }
}

TEST(Schedule, SaysWhatContradictsItself) {
  const auto complaint = [](const ScheduleSpec& spec) {
    return testing::message_of<ConfigError>([&] { make_schedule(spec); });
  };
  EXPECT_EQ(complaint({.epochs = 0}), "epochs is 0; there must be at least 1");
  EXPECT_EQ(complaint({.epochs = 5, .warmup = 6}), "a warm-up of 6 epochs does not fit into 5");
  EXPECT_NE(complaint({.epochs = 9, .warmup = 3, .ignore = 3})
                .find("ignoring the first 3 epochs leaves none"),
            std::string::npos);
}

TEST(Schedule, CanBePrinted) {
  EXPECT_EQ(describe({20, Kind::kHeuristic, {5, 20}}),
            "epoch 21   repartition by the heuristic, importance from epochs 6..20");
  EXPECT_EQ(describe({0, Kind::kRandom, {}}), "epoch 1    new random partition");
  EXPECT_EQ(describe({0, Kind::kStart, {}}), "epoch 1    partition of the start");
}

}  // namespace
}  // namespace impart::placement
