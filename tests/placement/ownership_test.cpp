#include "impart/placement/ownership.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

constexpr std::uint64_t kExamples = 41;

PlacementSpec exchanging() {
  return {.seed = 3,
          .workers = 4,
          .epochs = 8,
          .interval = 0,
          .exchange = find_entry(kExchanges, "exchange", "partial"),
          .fraction = 0.3};
}

PlacementSpec dealing(AnyHeuristic heuristic) {
  return {.seed = 3, .workers = 4, .epochs = {}, .warmup = 1, .heuristic = std::move(heuristic)};
}

/// Everybody but the one under test is not to be asked.
ImportanceSources only_window(std::vector<float> importance) {
  return {.close_window = [importance] { return importance; }};
}

TEST(Ownership, DealsWithAnyFunction) {
  std::vector<std::uint32_t> epochs;
  const AnyHeuristic noting{{"noting", "stripes, and notes when",
                             [&epochs](const Scores& importance, const PartitionSpec& spec) {
                               epochs.push_back(spec.epoch);
                               return deal_in_stripes(importance, spec);
                             }}};
  Ownership ownership(dealing(noting), {.examples = kExamples});
  std::vector<float> importance(kExamples);
  for (std::size_t i = 0; i < kExamples; ++i) importance[i] = static_cast<float>(i * 7 % 41);
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    ownership.prepare_epoch(epoch, only_window(importance));
  }
  EXPECT_EQ(epochs, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(ownership.partition(), deal_in_stripes(importance, {.workers = 4}));
  EXPECT_EQ(ownership.dealt_by(), importance);
}

TEST(Ownership, BeginsWithItsStartAndExchangesFromThere) {
  PlacementSpec spec = exchanging();
  spec.start = find_entry(kStarts, "start", "by-class");
  std::vector<std::uint32_t> labels(kExamples);
  for (std::size_t i = 0; i < kExamples; ++i) labels[i] = static_cast<std::uint32_t>(i % 5);
  Ownership ownership(spec, {.examples = kExamples, .labels = labels});
  EXPECT_EQ(ownership.prepare_epoch(0, {})->kind, ScheduleEvent::Kind::kStart);
  const Partition start = start_by_class({.examples = kExamples, .workers = 4, .labels = labels});
  EXPECT_EQ(ownership.partition(), start);
  EXPECT_EQ(ownership.prepare_epoch(1, {})->kind, ScheduleEvent::Kind::kExchange);
  EXPECT_EQ(ownership.partition(), exchange_uniformly(start, std::vector<float>(kExamples),
                                                      {.fraction = 0.3, .seed = 3, .epoch = 1}));
}

TEST(Ownership, TakesTheStartOfAFile) {
  PlacementSpec spec = exchanging();
  spec.start = find_entry(kStarts, "start", "file");
  const Partition given(std::vector<WorkerId>(kExamples, WorkerId{2}), 3);
  Ownership ownership(spec, {.examples = kExamples, .start = given});
  ownership.prepare_epoch(0, {});
  EXPECT_EQ(ownership.partition().sizes(), (std::vector<std::uint64_t>{0, 0, kExamples, 0}));
}

TEST(Ownership, SaysWhatItWillLookAt) {
  PlacementSpec spec = dealing(kHeuristics[1]);
  spec.interval = 2;
  spec.exchange = find_entry(kExchanges, "exchange", "is");
  Ownership ownership(spec, {.examples = kExamples});
  EXPECT_EQ(ownership.looks_at(0), ImportanceSource::kNone);
  EXPECT_EQ(ownership.looks_at(1), ImportanceSource::kNotion);
  EXPECT_EQ(ownership.looks_at(2), ImportanceSource::kInferenceLoss);
  EXPECT_EQ(ownership.looks_at(1001), ImportanceSource::kNotion);
  EXPECT_EQ(Ownership(dealing(kHeuristics[0]), {}).looks_at(1), ImportanceSource::kNone);
}

TEST(Ownership, VisitsArrivalsLastAndElseInTheSameOrder) {
  PlacementSpec spec = exchanging();
  Ownership plain(spec, {.examples = kExamples});
  spec.arrivals_last = true;
  Ownership last(spec, {.examples = kExamples});
  for (std::uint32_t epoch = 0; epoch < 8; ++epoch) {
    const auto change = plain.prepare_epoch(epoch, {});
    last.prepare_epoch(epoch, {});
    ASSERT_EQ(plain.partition(), last.partition());
    EXPECT_TRUE(plain.arrivals().empty());
    ASSERT_EQ(last.arrivals().size(), change->moved);
    const auto arrived = [&](ExampleId id) {
      return std::ranges::find(last.arrivals(), id) != last.arrivals().end();
    };
    const Parts expected = plain.order(epoch), found = last.order(epoch);
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      std::vector<ExampleId> stayed_first;
      for (const bool wanted : {false, true}) {
        for (const ExampleId id : expected.of(WorkerId{worker})) {
          if (arrived(id) == wanted) stayed_first.push_back(id);
        }
      }
      EXPECT_TRUE(std::ranges::equal(found.of(WorkerId{worker}), stayed_first));
    }
  }
}

TEST(Ownership, DecidesByDoublesAsDoubles) {
  PlacementSpec spec = exchanging();
  spec.exchange = find_entry(kExchanges, "exchange", "balance-pair");
  spec.exchange->source = ImportanceSource::kInferenceLoss;
  std::vector<double> losses(kExamples);  // all the same as floats
  for (std::size_t i = 0; i < kExamples; ++i) losses[i] = 1 + 1e-11 * static_cast<double>(i * i);
  Ownership ownership(spec, {.examples = kExamples});
  ownership.prepare_epoch(0, {});
  const Partition before = ownership.partition();
  const auto change = ownership.prepare_epoch(1, {.inference_loss = [&] { return losses; }});
  const ExchangeSpec asked{.fraction = 0.3, .seed = 3, .epoch = 1};
  EXPECT_EQ(ownership.partition(), exchange_to_balance(before, losses, asked));
  EXPECT_EQ(change->importance, std::vector<float>(kExamples, 1));
  EXPECT_GT(change->moved, 0u);
}

TEST(Ownership, StaysAsItWasIfADecisionFails) {
  PlacementSpec spec = exchanging();
  spec.arrivals_last = true;
  spec.warmup = 3;
  spec.heuristic = {{"failing", "throws", [](const Scores&, const PartitionSpec&) -> Partition {
                       throw std::runtime_error("not today");
                     }}};
  Ownership ownership(spec, {.examples = kExamples});
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) ownership.prepare_epoch(epoch, {});
  const Partition before = ownership.partition();
  const auto arrivals = ownership.arrivals();
  EXPECT_FALSE(arrivals.empty());
  EXPECT_THROW(ownership.prepare_epoch(3, only_window(std::vector<float>(kExamples))),
               std::runtime_error);
  EXPECT_EQ(ownership.partition(), before);
  EXPECT_EQ(ownership.arrivals(), arrivals);
}

TEST(Ownership, RestoresOnlyWhatIsOfItsExamples) {
  Ownership ownership(exchanging(), {.examples = kExamples});
  const Partition fits = shuffle_evenly(std::vector<float>(kExamples), {.workers = 4});
  const Partition other = shuffle_evenly(std::vector<float>(40), {.workers = 4});
  EXPECT_THROW(ownership.restore(other, {}, {}), DataError);
  EXPECT_THROW(ownership.restore(fits, {1, 2}, {}), DataError);
  EXPECT_THROW(ownership.restore(fits, {}, {ExampleId{kExamples}}), DataError);
  ownership.restore(fits, {}, {ExampleId{0}});
  EXPECT_EQ(ownership.partition(), fits);
}

}  // namespace
}  // namespace impart::placement
