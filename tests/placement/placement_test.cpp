#include "impart/placement/placement.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/move_plan.h"

namespace impart::placement {
namespace {

using Kind = ScheduleEvent::Kind;

constexpr std::uint64_t kDealt = 42;
constexpr std::uint32_t kDealers = 4;

/// Warm-up of 3 epochs, then stripes by the mean loss at epochs 3, 6 and 9 of 12.
PlacementSpec importance_aware() {
  return {.seed = 5,
          .workers = kDealers,
          .epochs = 12,
          .warmup = 3,
          .interval = 3,
          .heuristic = find_entry(kHeuristics, "heuristic", "stripes"),
          .notion = find_entry(importance::kNotions, "notion", "loss-average"),
          .ignore = 1};
}

PlacementSpec exchanging(std::string_view strategy) {
  PlacementSpec spec = importance_aware();
  spec.warmup = spec.interval = 0;
  spec.heuristic = find_entry(kHeuristics, "heuristic", "random");
  spec.exchange = find_entry(kExchanges, "exchange", strategy);
  spec.fraction = 0.25;
  return spec;
}

PlacementData make_data() {
  PlacementData data{.examples = kDealt};
  for (std::uint64_t i = 0; i < kDealt; ++i) {
    data.labels.push_back(static_cast<std::uint32_t>(i % 3));
  }
  return data;
}

/// Losses of an epoch: a permutation of 1..N that is drawn anew every three epochs, plus a number
/// that is the same for all examples, so that means over an interval have no near ties.
std::vector<float> losses_of(std::uint32_t epoch) {
  std::vector<float> losses(kDealt);
  std::iota(losses.begin(), losses.end(), 1.0f);
  RandomStream random({.seed = 9, .purpose = Purpose("test"), .epoch = epoch / 3});
  shuffle(std::span(losses), random);
  for (float& loss : losses) loss += 0.5f * static_cast<float>(epoch);
  return losses;
}

std::vector<ExampleId> all_ids() {
  std::vector<ExampleId> ids;
  for (std::uint64_t i = 0; i < kDealt; ++i) ids.push_back(ExampleId{i});
  return ids;
}

std::vector<float> no_losses() {
  ADD_FAILURE() << "the losses of the current model were asked for";
  return std::vector<float>(kDealt);
}

/// One epoch of a run: what happens before it, then the visits.
std::optional<PlacementChange> run_epoch(
    Placement& placement, std::uint32_t epoch,
    const std::function<std::vector<float>()>& inference_losses = no_losses) {
  auto change = placement.prepare_epoch(epoch, inference_losses);
  const std::vector<float> losses = losses_of(epoch);
  placement.table().observe(epoch, all_ids(), {.loss = losses});
  return change;
}

PartitionSpec spec_at(std::uint32_t epoch) {
  return {.workers = kDealers, .seed = 5, .epoch = epoch};
}

ExchangeSpec exchange_at(std::uint32_t epoch) {
  return {.fraction = 0.25, .seed = 5, .epoch = epoch, .earlier_exchanges = epoch - 1};
}

TEST(Placement, IsRandomInTheWarmUp) {
  Placement placement(importance_aware(), make_data());
  std::optional<Partition> before;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    const auto change = run_epoch(placement, epoch);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->kind, Kind::kRandom);
    EXPECT_EQ(placement.partition(), shuffle_evenly(std::vector<float>(kDealt), spec_at(epoch)));
    EXPECT_TRUE(change->importance.empty());
    EXPECT_TRUE(placement.dealt_by().empty());
    const std::uint64_t moved =
        before ? diff(*before, placement.partition()).moves.size() : std::uint64_t{0};
    EXPECT_EQ(change->moved, moved);
    before = placement.partition();
  }
}

TEST(Placement, FollowsTheImportanceOfTheIntervalThatEnded) {
  Placement placement(importance_aware(), make_data());
  for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
    const Partition before = placement.partition();
    const auto change = run_epoch(placement, epoch);
    if (epoch < 3) continue;
    ASSERT_EQ(change.has_value(), epoch % 3 == 0) << epoch;
    if (!change) {
      EXPECT_EQ(placement.partition(), before);
      continue;
    }
    // All epochs of the interval rank the examples alike; only the first one of the run is ignored.
    const std::vector<float> losses = losses_of(epoch - 1);
    EXPECT_EQ(change->kind, Kind::kHeuristic);
    EXPECT_EQ(placement.partition(), deal_in_stripes(losses, spec_at(epoch)));
    EXPECT_EQ(change->importance, placement.dealt_by());
    const float middle = epoch == 3 ? losses[0] - 0.25f : losses[0] - 0.5f;
    EXPECT_FLOAT_EQ(placement.dealt_by()[0], middle);
    EXPECT_EQ(change->moved, diff(before, placement.partition()).moves.size());
    EXPECT_EQ(change->messages, diff(before, placement.partition()).messages());
    EXPECT_LT(change->imbalance_cv, 0.2);
  }
}

TEST(Placement, OfBlocksIsLessBalancedThanOfStripes) {
  PlacementSpec spec = importance_aware();
  Placement stripes(spec, make_data());
  spec.heuristic = find_entry(kHeuristics, "heuristic", "blocks");
  Placement blocks(spec, make_data());
  std::optional<PlacementChange> of_stripes, of_blocks;
  for (std::uint32_t epoch = 0; epoch <= 3; ++epoch) {
    of_stripes = run_epoch(stripes, epoch);
    of_blocks = run_epoch(blocks, epoch);
  }
  EXPECT_GT(of_blocks->imbalance_cv, 5 * of_stripes->imbalance_cv);
  EXPECT_GT(of_blocks->imbalance_ks, of_stripes->imbalance_ks);
}

TEST(Placement, GivesTheHeuristicTheLabels) {
  PlacementSpec spec = importance_aware();
  spec.heuristic = find_entry(kHeuristics, "heuristic", "class-stripes");
  Placement placement(spec, make_data());
  std::optional<PlacementChange> change;
  for (std::uint32_t epoch = 0; epoch <= 3; ++epoch) change = run_epoch(placement, epoch);
  PartitionSpec asked = spec_at(3);
  const PlacementData data = make_data();
  asked.labels = data.labels;
  EXPECT_EQ(placement.partition(), deal_classes_in_stripes(losses_of(2), asked));
  EXPECT_LT(change->class_skew, 0.1);
}

TEST(Placement, ExchangesBeforeEveryEpochAfterTheFirst) {
  Placement placement(exchanging("partial"), make_data());
  EXPECT_EQ(run_epoch(placement, 0)->kind, Kind::kRandom);
  const auto sizes = placement.partition().sizes();
  for (std::uint32_t epoch = 1; epoch < 12; ++epoch) {
    const Partition before = placement.partition();
    const auto change = run_epoch(placement, epoch);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->kind, Kind::kExchange);
    const std::vector<float> nothing(kDealt);
    EXPECT_EQ(placement.partition(), exchange_uniformly(before, nothing, exchange_at(epoch)));
    EXPECT_EQ(placement.partition().sizes(), sizes);
    EXPECT_GT(change->moved, 0u);
    EXPECT_EQ(change->moved, diff(before, placement.partition()).moves.size());
  }
}

TEST(Placement, ExchangesByTheLossesOfTheCurrentModel) {
  Placement placement(exchanging("is"), make_data());
  int calls = 0;
  std::vector<float> losses;
  const auto count_calls = [&] {
    ++calls;
    losses = losses_of(50 + static_cast<std::uint32_t>(calls));
    return losses;
  };
  run_epoch(placement, 0, count_calls);
  EXPECT_EQ(calls, 0);
  for (std::uint32_t epoch = 1; epoch < 12; ++epoch) {
    const Partition before = placement.partition();
    const auto change = run_epoch(placement, epoch, count_calls);
    EXPECT_EQ(calls, static_cast<int>(epoch));
    EXPECT_EQ(change->importance, losses);
    EXPECT_EQ(placement.partition(), exchange_by_importance(before, losses, exchange_at(epoch)));
  }
}

TEST(Placement, ExchangesByTheLossesThatTrainingRecorded) {
  Placement placement(exchanging("ilag-pair"), make_data());
  run_epoch(placement, 0);
  for (std::uint32_t epoch = 1; epoch < 12; ++epoch) {
    const Partition before = placement.partition();
    const auto change = run_epoch(placement, epoch);
    EXPECT_EQ(change->importance, losses_of(epoch - 1));
    EXPECT_EQ(placement.partition(),
              exchange_in_pairs(before, losses_of(epoch - 1), exchange_at(epoch)));
  }
}

TEST(Placement, ExchangesByTheNotionInsideIntervals) {
  PlacementSpec spec = importance_aware();
  spec.exchange = find_entry(kExchanges, "exchange", "balance-pair");
  spec.fraction = 0.25;
  Placement placement(spec, make_data());
  for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
    const Partition before = placement.partition();
    const auto change = run_epoch(placement, epoch);
    ASSERT_TRUE(change);
    const bool repartitions = epoch % 3 == 0;
    const Kind expected = epoch < 3      ? Kind::kRandom
                          : repartitions ? Kind::kHeuristic
                                         : Kind::kExchange;
    EXPECT_EQ(change->kind, expected) << epoch;
    if (expected == Kind::kExchange) {
      EXPECT_EQ(placement.partition().sizes(), before.sizes());
      EXPECT_EQ(change->importance.size(), kDealt);
      EXPECT_EQ(placement.dealt_by().size(), kDealt);
    }
  }
}

TEST(Placement, RecordsWhatItsExchangeLooksAt) {
  const auto names = [](const PlacementSpec& spec) {
    std::vector<std::string> result;
    for (const importance::AnyNotion& notion : tracked_notions(spec)) result.push_back(notion.name);
    return result;
  };
  PlacementSpec spec = exchanging("partial");
  EXPECT_EQ(names(spec), std::vector<std::string>{"loss-average"});
  spec.exchange = find_entry(kExchanges, "exchange", "ilag-pair");
  spec.record = importance::notions_named({"margin", "loss-average"});
  EXPECT_EQ(names(spec), (std::vector<std::string>{"loss-average", "margin", "loss-last"}));
  spec.notion = find_entry(importance::kNotions, "notion", "loss-last");
  spec.record = {};
  EXPECT_EQ(names(spec), std::vector<std::string>{"loss-last"});
}

TEST(Placement, IsTheSameForTheSameSeedOnly) {
  for (const PlacementSpec& spec : {importance_aware(), exchanging("is-pair")}) {
    PlacementSpec other_spec = spec;
    other_spec.seed = 6;
    Placement first(spec, make_data()), second(spec, make_data()), other(other_spec, make_data());
    const auto losses = [] { return losses_of(50); };
    for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
      for (Placement* placement : {&first, &second, &other}) run_epoch(*placement, epoch, losses);
      EXPECT_EQ(first.partition(), second.partition());
      if (epoch < 3) {
        EXPECT_NE(first.partition(), other.partition());
      }
      for (std::uint32_t worker = 0; worker < kDealers; ++worker) {
        EXPECT_TRUE(std::ranges::equal(first.order(epoch).of(WorkerId{worker}),
                                       second.order(epoch).of(WorkerId{worker})));
      }
    }
  }
}

TEST(Placement, RestoredGoesOnAsIfNothingHadHappened) {
  for (PlacementSpec spec :
       {importance_aware(), exchanging("partial"), exchanging("ilag-pair"), exchanging("is")}) {
    spec.shuffle = ShuffleKind::kShared;
    spec.sticky = true;
    const auto losses = [] { return losses_of(50); };
    Placement first(spec, make_data());
    for (std::uint32_t epoch = 0; epoch < 5; ++epoch) run_epoch(first, epoch, losses);
    Placement second(spec, make_data());
    second.restore(first.partition(), first.table(), first.dealt_by(), first.arrivals());
    for (std::uint32_t epoch = 5; epoch < 12; ++epoch) {
      const auto change = run_epoch(first, epoch, losses);
      const auto same = run_epoch(second, epoch, losses);
      ASSERT_EQ(change.has_value(), same.has_value());
      if (change) {
        EXPECT_EQ(change->moved, same->moved);
        EXPECT_EQ(change->importance, same->importance);
      }
      EXPECT_EQ(first.partition(), second.partition());
      EXPECT_EQ(first.dealt_by(), second.dealt_by());
      for (std::uint32_t worker = 0; worker < kDealers; ++worker) {
        EXPECT_TRUE(std::ranges::equal(first.order(epoch).of(WorkerId{worker}),
                                       second.order(epoch).of(WorkerId{worker})));
      }
    }
  }
}

TEST(Placement, MovesLessIfSticky) {
  PlacementSpec spec = importance_aware();
  Placement loose(spec, make_data());
  spec.sticky = true;
  Placement sticky(spec, make_data());
  std::uint64_t moved_loose = 0, moved_sticky = 0;
  for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
    const auto of_loose = run_epoch(loose, epoch);
    const auto of_sticky = run_epoch(sticky, epoch);
    if (epoch < 3 || !of_loose) continue;
    moved_loose += of_loose->moved;
    moved_sticky += of_sticky->moved;
  }
  EXPECT_LT(moved_sticky, moved_loose);
  const auto sizes = sticky.partition().sizes();
  EXPECT_LE(std::ranges::max(sizes) - std::ranges::min(sizes), 1u);
}

TEST(Placement, OrdersEveryWorkersOwnExamplesAnewInEachEpoch) {
  for (const ShuffleKind shuffle : {ShuffleKind::kPerWorker, ShuffleKind::kShared}) {
    PlacementSpec spec = importance_aware();
    spec.shuffle = shuffle;
    Placement placement(spec, make_data());
    std::vector<ExampleId> earlier;
    for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
      run_epoch(placement, epoch);
      const Parts order = placement.order(epoch), parts = placement.partition().parts();
      for (std::uint32_t worker = 0; worker < kDealers; ++worker) {
        const auto visited = order.of(WorkerId{worker}), owned = parts.of(WorkerId{worker});
        EXPECT_TRUE(std::ranges::is_permutation(visited, owned));
      }
      const auto first = order.of(WorkerId{0});
      EXPECT_FALSE(std::ranges::equal(first, earlier));
      earlier.assign(first.begin(), first.end());
    }
  }
}

TEST(Placement, MovesThePositionsOfARankingAlikeIfTheShuffleIsShared) {
  PlacementSpec spec = importance_aware();
  spec.shuffle = ShuffleKind::kShared;
  Placement placement(spec, make_data());
  for (std::uint32_t epoch = 0; epoch <= 3; ++epoch) run_epoch(placement, epoch);
  // Workers 2 and 3 have equally many examples of a striped ranking: at each place of the order
  // they stand next to each other in it.
  const Parts order = placement.order(3);
  const auto left = order.of(WorkerId{2}), right = order.of(WorkerId{3});
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t k = 0; k < left.size(); ++k) {
    EXPECT_NEAR(placement.dealt_by()[index(left[k])], placement.dealt_by()[index(right[k])], 1.0f);
  }
}

}  // namespace
}  // namespace impart::placement
