#include "impart/placement/own_rows.h"

#include <optional>

#include <gtest/gtest.h>

#include "impart/config/config_file.h"
#include "impart/core/error.h"
#include "impart/placement/placement.h"
#include "tests/support/temporary_folder.h"

namespace impart::config {
namespace {

using testing::message_of;

/// All to the last workers: not a good heuristic, but one that is easily told from others.
placement::Partition deal_backwards(const Scores& importance,
                                    const placement::PartitionSpec& spec) {
  placement::check_spec(importance, spec);
  std::vector<WorkerId> owners;
  for (std::uint64_t i = 0; i < importance.size(); ++i) {
    owners.push_back(WorkerId{static_cast<std::uint32_t>(spec.workers - 1 - i % spec.workers)});
  }
  return {std::move(owners), spec.workers};
}

placement::Partition turn_around(const placement::Partition& current, const Scores&,
                                 const placement::ExchangeSpec&) {
  std::vector<WorkerId> owners(current.owners().rbegin(), current.owners().rend());
  return {std::move(owners), current.workers()};
}

double number_of_visits(const importance::ExampleStatistics& example) {
  return example.visits;
}

/// Every second example of every part, with weight 2.
placement::Selected visit_every_second(const placement::SelectionInput& input,
                                       const placement::SelectionSpec&) {
  std::vector<std::vector<ExampleId>> lists(input.parts.workers());
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const auto part = input.parts.of(WorkerId{worker});
    for (std::size_t i = 0; i < part.size(); i += 2) lists[worker].push_back(part[i]);
  }
  return {.visits = placement::parts_of(lists),
          .weights = std::vector<float>(input.examples, 2.0f)};
}

placement::Partition start_with_one(const placement::StartSpec& spec) {
  placement::check_start(spec);
  return {std::vector<WorkerId>(spec.examples, WorkerId{1}), spec.workers};
}

const placement::OwnRows kOwn{
    .heuristics = {{{"backwards", "the last worker first", deal_backwards}}},
    .exchanges = {{{"turn", "the first becomes the last", turn_around},
                   placement::ImportanceSource::kNone}},
    .notions = {{{"visits", "how often it was visited", number_of_visits},
                 importance::StateSet::kLossMean}},
    .selections = {{{"every-second", "half of each part", visit_every_second}}},
    .starts = {{{"all-to-one", "the others wait", start_with_one}}}};

RunConfig make_config() {
  RunConfig config{.epochs = 4};
  config.workers.count = 3;
  config.importance = {.notion = "visits", .ignore = 0};
  config.partition = {.heuristic = "backwards", .warmup = 1, .interval = 0};
  return config;
}

TEST(OwnRows, DecideInAPlacement) {
  RunConfig config = make_config();
  config.exchange = {.strategy = "turn"};
  placement::Placement placement(placement_spec(config, kOwn), {.examples = 7});
  placement.prepare_epoch(0, {});
  const std::vector<ExampleId> ids = {ExampleId{1}, ExampleId{2}, ExampleId{2}};
  const std::vector<float> losses = {1, 2, 3};
  placement.table().observe(0, ids, {.loss = losses});
  const auto change = placement.prepare_epoch(1, {});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->kind, placement::ScheduleEvent::Kind::kHeuristic);
  EXPECT_EQ(change->importance, (std::vector<float>{0, 1, 2, 0, 0, 0, 0}));
  const placement::Partition dealt = deal_backwards(change->importance, {.workers = 3});
  EXPECT_EQ(placement.partition(), dealt);
  placement.prepare_epoch(2, {});
  EXPECT_EQ(placement.partition(), turn_around(dealt, {}, {}));
}

TEST(OwnRows, StartAPlacement) {
  RunConfig config = make_config();
  config.partition.start = "all-to-one";
  EXPECT_NO_THROW(validate(config, {.rows = kOwn}));
  placement::Placement placement(placement_spec(config, kOwn), {.examples = 9});
  placement.prepare_epoch(0, {});
  EXPECT_EQ(placement.partition().sizes(), (std::vector<std::uint64_t>{0, 9, 0}));
}

TEST(OwnRows, SelectInAPlacement) {
  RunConfig config = make_config();
  config.selection.strategy = "every-second";
  EXPECT_NO_THROW(validate(config, {.rows = kOwn}));
  placement::Placement placement(placement_spec(config, kOwn), {.examples = 9});
  placement.prepare_epoch(0, {});
  const placement::Selected selected = placement.select(0);
  EXPECT_EQ(placement::count_visits(selected, 9).visits, 6u);
  EXPECT_EQ(selected.weights, std::vector<float>(9, 2.0f));
}

TEST(OwnRows, MayHaveCaptures) {
  std::uint32_t calls = 0;
  placement::OwnRows own = kOwn;
  own.heuristics[0].function = [&calls](const Scores& importance,
                                        const placement::PartitionSpec& spec) {
    ++calls;
    return deal_backwards(importance, spec);
  };
  const double factor = 2;
  own.notions[0].function = [factor](const importance::ExampleStatistics& example) {
    return factor * example.visits;
  };
  placement::Placement placement(placement_spec(make_config(), own), {.examples = 2});
  placement.prepare_epoch(0, {});
  placement.table().observe(0, std::vector{ExampleId{1}}, {.loss = std::vector<float>{1}});
  EXPECT_EQ(placement.prepare_epoch(1, {})->importance, (std::vector<float>{0, 2}));
  EXPECT_EQ(calls, 1u);
}

TEST(OwnRows, AreNamesThatAConfigMayHave) {
  const std::vector<std::string> settings = {"partition.heuristic=backwards",
                                             "importance.notion=visits", "exchange.strategy=turn",
                                             "importance.record=[visits, el2n]"};
  const RunConfig config = load_config(std::nullopt, settings, {.rows = kOwn});
  EXPECT_EQ(config.partition.heuristic, "backwards");
  EXPECT_EQ(config.importance.notion, "visits");
  EXPECT_EQ(config.exchange.strategy, "turn");
  EXPECT_NO_THROW(validate(make_config(), {.rows = kOwn}));
}

TEST(OwnRows, AreUnknownToOthers) {
  EXPECT_THROW(validate(make_config()), ConfigError);
  EXPECT_THROW(placement_spec(make_config()), ConfigError);
  EXPECT_EQ(message_of<ConfigError>([] {
              find_entry(placement::kHeuristics, kOwn.heuristics, "heuristic", "bakwards");
            }),
            "unknown heuristic 'bakwards', did you mean 'backwards'?");
}

TEST(OwnRows, MustHaveANameOfTheirOwnAndAFunction) {
  placement::OwnRows own = kOwn;
  own.heuristics[0].name = "stripes";
  EXPECT_EQ(message_of<ConfigError>([&] { placement::check_rows(own); }),
            "heuristic 'stripes' of your own: there is one of that name already");
  own = kOwn;
  own.notions.push_back(own.notions[0]);
  EXPECT_EQ(message_of<ConfigError>([&] { placement::check_rows(own); }),
            "notion 'visits' of your own: there is one of that name already");
  own = kOwn;
  own.exchanges[0].function = nullptr;
  EXPECT_EQ(message_of<ConfigError>([&] { placement::check_rows(own); }),
            "exchange 'turn' of your own has no function");
  own.exchanges[0].name = "";
  EXPECT_EQ(message_of<ConfigError>([&] { validate({}, {.rows = own}); }),
            "an exchange of your own has no name");
}

}  // namespace
}  // namespace impart::config
