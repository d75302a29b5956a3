#include "impart/placement/step_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace impart::placement {
namespace {

using Ids = std::vector<std::uint64_t>;

/// Orders of these lengths; their ids go on from worker to worker, backwards.
Parts make_order(const std::vector<std::uint64_t>& sizes) {
  Parts order(sizes);
  std::uint64_t next = 0;
  for (const std::uint64_t size : sizes) next += size;
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    for (ExampleId& id : order.of(WorkerId{worker})) id = ExampleId{--next};
  }
  return order;
}

Ids numbers(std::span<const ExampleId> ids) {
  Ids result;
  for (const ExampleId id : ids) result.push_back(index(id));
  return result;
}

/// All that a worker visits, and which of it is observed.
struct Visits {
  Ids ids, observed;
};

Visits visits_of_worker(const StepPlan& plan, std::uint32_t worker) {
  Visits visits;
  for (std::uint32_t step = 0; step < plan.steps(); ++step) {
    const Ids batch = numbers(plan.batch_of(WorkerId{worker}, step));
    const std::size_t observed = plan.observed_of(WorkerId{worker}, step);
    visits.ids.insert(visits.ids.end(), batch.begin(), batch.end());
    visits.observed.insert(visits.observed.end(), batch.begin(), batch.begin() + observed);
  }
  return visits;
}

const std::vector<std::vector<std::uint64_t>> kSizes = {{7, 5, 6, 5}, {8, 8}, {1},        {0, 3, 9},
                                                        {4, 0, 0, 1}, {0, 0}, {13, 2, 12}};

TEST(StepPlan, CountsTheVisitsOfAStretch) {
  for (const auto& sizes : kSizes) {
    for (const Uneven uneven : {Uneven::kWeight, Uneven::kPad, Uneven::kDrop}) {
      const StepPlan plan(make_order(sizes), 2, uneven);
      for (std::uint32_t worker = 0; worker < plan.workers(); ++worker) {
        for (std::uint32_t first = 0; first <= plan.steps(); ++first) {
          std::uint64_t visits = 0;
          for (std::uint32_t last = first; last <= plan.steps() + 1; ++last) {
            EXPECT_EQ(plan.visits_between(WorkerId{worker}, first, last), visits);
            visits += plan.batch_of(WorkerId{worker}, last).size();
          }
        }
      }
    }
  }
}

TEST(StepPlan, SharesALastStepThatWouldBeTooShort) {
  const StepPlan plan(make_order({9, 7, 0, 5}), 4, Uneven::kWeight, LastStep::kShared);
  ASSERT_EQ(plan.steps(), 3u);
  EXPECT_EQ(plan.examples_in(0), 12u);
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{0}, 1)), (Ids{16, 15}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{0}, 2)), (Ids{14, 13, 12}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{1}, 1)), (Ids{7, 6}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{1}, 2)), (Ids{5}));
  EXPECT_EQ(plan.examples_in(1), 5u);
  EXPECT_EQ(plan.examples_in(2), 4u);
  EXPECT_EQ(plan.visits_between(WorkerId{0}, 1, 2), 2u);
}

TEST(StepPlan, SharedLastStepsVisitAllOnceAndNoneIsTooShort) {
  for (const auto& sizes : kSizes) {
    for (const std::uint32_t batch : {1u, 2u, 3u, 4u}) {
      const Parts order = make_order(sizes);
      const StepPlan plan(order, batch, Uneven::kWeight, LastStep::kShared);
      for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
        const Visits visits = visits_of_worker(plan, worker);
        EXPECT_EQ(visits.ids, numbers(order.of(WorkerId{worker})));
        EXPECT_EQ(visits.observed, visits.ids);
        for (std::uint32_t step = 0; step < plan.steps(); ++step) {
          EXPECT_LE(plan.batch_of(WorkerId{worker}, step).size(), batch);
        }
      }
      if (plan.steps() < 2) continue;
      const std::uint64_t last = plan.examples_in(plan.steps() - 1);
      EXPECT_GE(2 * last + plan.workers(), plan.examples_in(plan.steps() - 2));
    }
  }
}

TEST(StepPlan, LeavesALastStepOfHalfTheExamples) {
  const StepPlan plan(make_order({6, 6}), 4, Uneven::kWeight, LastStep::kShared);
  EXPECT_EQ(plan.examples_in(0), 8u);
  EXPECT_EQ(plan.examples_in(1), 4u);
}

TEST(StepPlan, CutsOrdersIntoBatches) {
  const StepPlan plan(make_order({5, 3}), 2, Uneven::kWeight);
  EXPECT_EQ(plan.workers(), 2u);
  ASSERT_EQ(plan.steps(), 3u);
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{0}, 0)), (Ids{7, 6}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{0}, 1)), (Ids{5, 4}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{0}, 2)), (Ids{3}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{1}, 1)), (Ids{0}));
  EXPECT_EQ(numbers(plan.batch_of(WorkerId{1}, 2)), (Ids{}));
  EXPECT_EQ(plan.examples_in(0), 4u);
  EXPECT_EQ(plan.examples_in(1), 3u);
  EXPECT_EQ(plan.examples_in(2), 1u);
}

TEST(StepPlan, WithWeightsVisitsEveryExampleOnceAndObservesIt) {
  for (const auto& sizes : kSizes) {
    const Parts order = make_order(sizes);
    const StepPlan plan(order, 3, Uneven::kWeight);
    for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
      const Visits visits = visits_of_worker(plan, worker);
      EXPECT_EQ(visits.ids, numbers(order.of(WorkerId{worker})));
      EXPECT_EQ(visits.observed, visits.ids);
    }
    EXPECT_EQ(plan.steps(), (std::ranges::max(sizes) + 2) / 3);
  }
}

TEST(StepPlan, PaddedRepeatsTheStartOfShortOrdersUnobserved) {
  for (const auto& sizes : kSizes) {
    const Parts order = make_order(sizes);
    const StepPlan plan(order, 3, Uneven::kPad);
    for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
      const Ids own = numbers(order.of(WorkerId{worker}));
      Ids expected;
      while (!own.empty() && expected.size() < std::ranges::max(sizes)) {
        expected.push_back(own[expected.size() % own.size()]);
      }
      const Visits visits = visits_of_worker(plan, worker);
      EXPECT_EQ(visits.ids, expected);
      EXPECT_EQ(visits.observed, own);
    }
  }
}

TEST(StepPlan, PaddedHasFullStepsButTheLast) {
  const StepPlan plan(make_order({7, 5, 6}), 3, Uneven::kPad);
  ASSERT_EQ(plan.steps(), 3u);
  EXPECT_EQ(plan.examples_in(0), 9u);
  EXPECT_EQ(plan.examples_in(1), 9u);
  EXPECT_EQ(plan.examples_in(2), 3u);
  EXPECT_EQ(plan.observed_of(WorkerId{1}, 1), 2u);
  EXPECT_EQ(plan.observed_of(WorkerId{1}, 2), 0u);
}

TEST(StepPlan, DroppingCutsLongOrders) {
  for (const auto& sizes : kSizes) {
    const Parts order = make_order(sizes);
    const StepPlan plan(order, 3, Uneven::kDrop);
    for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
      Ids expected = numbers(order.of(WorkerId{worker}));
      expected.resize(std::ranges::min(sizes));
      const Visits visits = visits_of_worker(plan, worker);
      EXPECT_EQ(visits.ids, expected);
      EXPECT_EQ(visits.observed, expected);
    }
  }
}

TEST(StepPlan, HasNothingBeyondItsLastStep) {
  const StepPlan plan(make_order({4, 2}), 2, Uneven::kPad);
  EXPECT_EQ(plan.steps(), 2u);
  EXPECT_TRUE(plan.batch_of(WorkerId{0}, 2).empty());
  EXPECT_EQ(plan.observed_of(WorkerId{0}, 9), 0u);
  EXPECT_EQ(plan.examples_in(2), 0u);
}

TEST(VisitList, GoesStepByStepAndWorkerByWorker) {
  const StepPlan plan(make_order({2, 3, 1}), 2, Uneven::kWeight);
  const VisitList all = visits_of(plan, {.first = 0, .count = 3}, 0, plan.steps());
  EXPECT_EQ(numbers(all.ids), (Ids{5, 4, 3, 2, 0, 1}));
  EXPECT_EQ(all.observed, std::vector<bool>(6, true));
  const VisitList some = visits_of(plan, {.first = 1, .count = 2}, 0, plan.steps());
  EXPECT_EQ(numbers(some.ids), (Ids{3, 2, 0, 1}));
  const VisitList later = visits_of(plan, {.first = 0, .count = 3}, 1, 2);
  EXPECT_EQ(numbers(later.ids), (Ids{1}));
  EXPECT_TRUE(visits_of(plan, {.first = 0, .count = 3}, 1, 1).ids.empty());
}

TEST(VisitList, MarksTheRepeatsOfPaddedOrders) {
  const StepPlan plan(make_order({4, 1}), 2, Uneven::kPad);
  const VisitList visits = visits_of(plan, {.first = 0, .count = 2}, 0, plan.steps());
  EXPECT_EQ(numbers(visits.ids), (Ids{4, 3, 0, 0, 2, 1, 0, 0}));
  EXPECT_EQ(visits.observed,
            (std::vector<bool>{true, true, true, false, true, true, false, false}));
}

}  // namespace
}  // namespace impart::placement
