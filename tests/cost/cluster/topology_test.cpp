#include "impart/cost/cluster/topology.h"

#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::cost {
namespace {

std::vector<std::string> way(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> names;
  const Route route = topology.route(from, to);
  for (const std::uint32_t link : route.links()) names.push_back(topology.name(link));
  return names;
}

using Names = std::vector<std::string>;

TEST(ClusterTopology, OfASwitchHasOnlyTheNodesOwnLinks) {
  const Topology topology({.kind = TopologyKind::kSwitch, .nodes = 4, .rate = 1});
  EXPECT_EQ(way(topology, 1, 3), (Names{"node 1 out", "node 3 in"}));
  EXPECT_EQ(topology.links(), 8u);
}

TEST(ClusterTopology, OfAFatTreeGoesOverTheSpineOfTheDestination) {
  const Topology topology({.nodes = 64, .rate = 1, .leaf = 8, .oversubscription = 2});
  EXPECT_EQ(way(topology, 1, 3), (Names{"node 1 out", "node 3 in"}));
  EXPECT_EQ(way(topology, 1, 63),
            (Names{"node 1 out", "leaf 0 to spine 3", "spine 3 to leaf 7", "node 63 in"}));
  EXPECT_EQ(topology.describe(),
            "fat tree: 8 leaf switches of 8 nodes, 4 spines (2:1), static routing");
}

TEST(ClusterTopology, WithAdaptiveRoutingHasOneWideLinkUpAndDown) {
  const Topology topology(
      {.nodes = 64, .rate = 3, .leaf = 8, .oversubscription = 2, .routing = Routing::kAdaptive});
  EXPECT_EQ(way(topology, 1, 63), (Names{"node 1 out", "leaf 0 up", "leaf 7 down", "node 63 in"}));
  const Route up = topology.route(1, 63);
  EXPECT_EQ(topology.rate(up.links()[1]), 4 * 3);
  EXPECT_EQ(topology.rate(up.links()[0]), 3);
}

TEST(ClusterTopology, OfADragonflyPassesAtMostOneLinkBetweenGroups) {
  const Topology topology({.kind = TopologyKind::kDragonfly, .nodes = 96, .rate = 1, .leaf = 2});
  // 2 nodes at a router, 4 routers in a group: 12 groups of 8 nodes.
  EXPECT_EQ(way(topology, 0, 1), (Names{"node 0 out", "node 1 in"}));
  EXPECT_EQ(way(topology, 0, 7), (Names{"node 0 out", "g0: r0 to r3", "node 7 in"}));
  EXPECT_EQ(way(topology, 0, 95), (Names{"node 0 out", "g0: r0 to r3", "g0 to g11, link 0",
                                         "g11: r0 to r3", "node 95 in"}));
}

TEST(ClusterTopology, EveryLinkOfEveryWayIsOneOfItsOwn) {
  for (const auto& kind : kTopologies) {
    for (const auto& routing : kRoutings) {
      const Topology topology({.kind = kind.value,
                               .nodes = 50,
                               .rate = 1,
                               .leaf = 3,
                               .oversubscription = 1.5,
                               .routing = routing.value});
      for (std::uint32_t from = 0; from < 50; ++from) {
        for (std::uint32_t to = 0; to < 50; ++to) {
          if (from == to) continue;
          const Route route = topology.route(from, to);
          for (const std::uint32_t link : route.links()) ASSERT_LT(link, topology.links());
          ASSERT_EQ(route.links().front(), from);
          ASSERT_EQ(route.links().back(), 50 + to);
        }
      }
    }
  }
}

TEST(ClusterTopology, RefusesWhatCannotBe) {
  EXPECT_THROW(Topology({.nodes = 0, .rate = 1}), ConfigError);
  EXPECT_THROW(Topology({.nodes = 4}), ConfigError);
  EXPECT_THROW(Topology({.nodes = 4, .rate = 1, .oversubscription = 0.5}), ConfigError);
}

}  // namespace
}  // namespace impart::cost
