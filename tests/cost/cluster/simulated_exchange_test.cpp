#include "impart/cost/cluster/simulated_exchange.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::cost {
namespace {

constexpr double kRate = 1e8;  ///< bytes/s

ClusterSpec cluster(std::uint32_t nodes, TopologyKind kind = TopologyKind::kSwitch) {
  return {.topology = {.kind = kind, .nodes = nodes, .rate = kRate},
          .payload_bytes = 99'992,
          .efficiency = 1,
          .precision = 0};
}

/// Node i gives `count` examples to the node that `to` names.
template <class To>
placement::MovePlan moves(std::uint32_t nodes, std::uint64_t count, To&& to) {
  placement::MovePlan plan;
  std::uint64_t next = 0;
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint64_t i = 0; i < count; ++i) {
      plan.moves.push_back({ExampleId{next++}, WorkerId{from}, WorkerId{to(from)}});
    }
  }
  return plan;
}

TEST(SimulatedExchange, OfPairsTakesAsLongAsTheirBytes) {
  const auto plan = moves(4, 50, [](std::uint32_t from) { return from ^ 1; });
  const SimulatedExchange exchange = simulate_exchange(plan, cluster(4));
  // 50 frames of 100 kB each way; an acknowledgement of 8 bytes follows the last.
  EXPECT_NEAR(exchange.seconds, 0.05, 1e-6);
  EXPECT_NEAR(exchange.least_seconds, 0.05, 1e-6);
  EXPECT_EQ(exchange.examples, 200u);
  EXPECT_NEAR(exchange.bytes, 4 * 5e6, 4 * 8 + 1);
  EXPECT_NEAR(exchange.busiest.share, 1, 1e-3);
}

TEST(SimulatedExchange, ToOneNodeTakesAsLongAsThatOneReceives) {
  const auto plan = moves(4, 10, [](std::uint32_t) { return 3u; });
  placement::MovePlan others = plan;
  others.moves.resize(30);  // node 3 keeps its own
  const SimulatedExchange exchange = simulate_exchange(others, cluster(4));
  EXPECT_NEAR(exchange.seconds, 0.03, 1e-6);
  EXPECT_EQ(exchange.busiest.name, "node 3 in");
}

TEST(SimulatedExchange, WaitsForTheLatencyOfMessagesAndAcknowledgements) {
  ClusterSpec spec = cluster(2);
  spec.topology.latency = 0.25;
  const auto plan = moves(2, 5, [](std::uint32_t from) { return from ^ 1; });
  EXPECT_NEAR(simulate_exchange(plan, spec).seconds, 0.25 + 0.005 + 0.25, 1e-5);
}

TEST(SimulatedExchange, IsSlowerWhereALeafHasFewerLinksUpThanNodes) {
  ClusterSpec spec = cluster(8, TopologyKind::kFatTree);
  spec.topology.leaf = 4;
  spec.topology.oversubscription = 4;
  const auto plan = moves(8, 10, [](std::uint32_t from) { return (from + 4) % 8; });
  const SimulatedExchange exchange = simulate_exchange(plan, spec);
  EXPECT_NEAR(exchange.seconds, 0.04, 1e-5);
  EXPECT_NEAR(exchange.least_seconds, 0.01, 1e-5);
  EXPECT_EQ(exchange.busiest_inside.name, "leaf 0 to spine 0");
}

TEST(SimulatedExchange, WaitsForTheDisk) {
  ClusterSpec spec = cluster(2);
  const auto plan = moves(2, 100, [](std::uint32_t from) { return from ^ 1; });
  const double in_memory = simulate_exchange(plan, spec).seconds;
  spec.disk = kRate / 10;
  // 10 MB are read and 10 MB are written, one after the other, at a tenth of the network's rate.
  const double on_disk = simulate_exchange(plan, spec).seconds;
  EXPECT_NEAR(in_memory, 0.1, 1e-5);
  EXPECT_GT(on_disk, 2.0);
  EXPECT_LT(on_disk, 2.0 + in_memory + 0.01);
}

TEST(SimulatedExchange, MovesNothingInNoTime) {
  EXPECT_EQ(simulate_exchange({}, cluster(3)).seconds, 0);
}

TEST(SimulatedExchange, BetweenWorkersOfOneNodeCostsNoNetwork) {
  ClusterSpec spec = cluster(2);
  spec.workers = 4;
  const auto plan = moves(4, 10, [](std::uint32_t from) { return from ^ 1; });
  const SimulatedExchange exchange = simulate_exchange(plan, spec);
  EXPECT_EQ(exchange.messages, 0u);
  EXPECT_EQ(exchange.seconds, 0);
}

TEST(SimulatedExchange, DeliversEveryExampleOfARandomPlanOnEveryTopology) {
  constexpr std::uint32_t kNodes = 40;
  RandomStream random({.seed = 3, .purpose = Purpose("test")});
  std::vector<WorkerId> before, after;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    before.push_back(WorkerId{static_cast<std::uint32_t>(random.below(kNodes))});
    after.push_back(WorkerId{static_cast<std::uint32_t>(random.below(kNodes))});
  }
  const auto plan = placement::diff({before, kNodes}, {after, kNodes});
  for (const auto& kind : kTopologies) {
    ClusterSpec spec = cluster(kNodes, kind.value);
    spec.topology.leaf = 4;
    // A shelf throws if what it is given is not what it should be.
    const SimulatedExchange exact = simulate_exchange(plan, spec);
    EXPECT_GE(exact.seconds, exact.least_seconds);
    EXPECT_EQ(exact.examples, plan.moves.size());
    spec.precision = 0.02;
    EXPECT_NEAR(simulate_exchange(plan, spec).seconds / exact.seconds, 1, 0.03) << kind.name;
  }
}

TEST(SimulatedExchange, StartsTheNextLaneWhenOneEnds) {
  // One example for each other node: many more lanes than run at a time.
  constexpr std::uint32_t kNodes = 60;
  placement::MovePlan plan;
  for (std::uint32_t from = 0; from < kNodes; ++from) {
    for (std::uint32_t to = 0; to < kNodes; ++to) {
      if (from == to) continue;
      plan.moves.push_back({ExampleId{plan.moves.size()}, WorkerId{from}, WorkerId{to}});
    }
  }
  const SimulatedExchange exchange = simulate_exchange(plan, cluster(kNodes));
  // All lanes are of one size and go by distance: nobody is in anybody's way.
  EXPECT_NEAR(exchange.seconds, exchange.least_seconds, 0.02 * exchange.seconds);
}

TEST(SimulatedRing, TakesTheTimeOfItsStepsAndLatencies) {
  ClusterSpec spec = cluster(8);
  spec.topology.latency = 1e-3;
  EXPECT_NEAR(simulate_ring(8e6, spec), 14 * (0.01 + 1e-3), 1e-9);
  EXPECT_EQ(simulate_ring(8e6, cluster(1)), 0);
}

}  // namespace
}  // namespace impart::cost
