#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "impart/core/named_table.h"

namespace impart::cost {

/// How the nodes of a simulated cluster are wired.
enum class TopologyKind {
  kSwitch,     ///< one switch that is never a bottleneck: only the nodes' own links
  kFatTree,    ///< nodes at leaf switches, every leaf at every spine
  kDragonfly,  ///< nodes at routers, routers in groups that know each other, groups likewise
};

/// Which of several equal ways a message takes.
enum class Routing {
  kStatic,    ///< by its destination alone, as InfiniBand's tables do
  kHashed,    ///< by a hash of both ends, as Ethernet's equal-cost paths do
  kAdaptive,  ///< over all at once, as if they were one link: the best that switches can do
};

template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
};
inline constexpr NamedValue<TopologyKind> kTopologies[] = {
    {"switch", TopologyKind::kSwitch},
    {"fat-tree", TopologyKind::kFatTree},
    {"dragonfly", TopologyKind::kDragonfly},
};
inline constexpr NamedValue<Routing> kRoutings[] = {
    {"static", Routing::kStatic},
    {"hashed", Routing::kHashed},
    {"adaptive", Routing::kAdaptive},
};
static_assert(names_are_unique(kTopologies) && names_are_unique(kRoutings));

struct TopologySpec {
  TopologyKind kind = TopologyKind::kFatTree;
  std::uint32_t nodes = 1;
  double rate = 0;         ///< bytes/s of a link in each direction, above 0
  double latency = 0;      ///< seconds of a message beside its bytes, whatever its way
  std::uint32_t leaf = 0;  ///< nodes at a leaf switch or router; 0: 32, or 8 in a dragonfly
  /// Fat tree: a leaf's rate to its nodes over that to the spines. 1: full bisection.
  double oversubscription = 1;
  Routing routing = Routing::kStatic;
};

/// The links that a message passes, from its sender on.
class Route {
 public:
  void add(std::uint32_t link) { links_[count_++] = link; }
  std::span<const std::uint32_t> links() const& { return std::span(links_).first(count_); }
  std::span<const std::uint32_t> links() const&& = delete;  ///< would point into what is gone

 private:
  std::array<std::uint32_t, 5> links_ = {};
  std::uint32_t count_ = 0;
};

/// The links of a cluster, each of one direction, and the ways through them. A dragonfly is the
/// balanced one: p nodes at a router, 2p routers in a group, one link between each two of a group,
/// and p links of each router shared out over the other groups; ways are the shortest.
class Topology {
 public:
  /// ConfigError if a number cannot be.
  explicit Topology(const TopologySpec& spec);

  const TopologySpec& spec() const { return spec_; }
  std::uint32_t links() const { return links_; }
  double rate(std::uint32_t link) const;
  /// "node 17 out", "leaf 3 to spine 5"; of a dragonfly "g1: r2 to r3" (routers of group 1),
  /// "g1 to g4, link 2" (groups).
  std::string name(std::uint32_t link) const;
  /// Between two different nodes.
  Route route(std::uint32_t from, std::uint32_t to) const;
  /// "fat tree: 4 leaf switches of 32 nodes, 16 spines (2:1), static routing".
  std::string describe() const;

 private:
  std::uint32_t choose(std::uint32_t from, std::uint32_t to, std::uint32_t ways) const;
  void route_through_tree(std::uint32_t from, std::uint32_t to, Route& route) const;
  void route_through_groups(std::uint32_t from, std::uint32_t to, Route& route) const;
  std::string name_in_tree(std::uint32_t link) const;
  std::string name_in_groups(std::uint32_t link) const;

  TopologySpec spec_;
  std::uint32_t switches_ = 0;  ///< leaf switches, or routers
  std::uint32_t ways_ = 1;      ///< spines, or links between two groups
  std::uint32_t ways_kept_apart_ = 1;
  std::uint32_t routers_ = 1, groups_ = 1;  ///< routers of a group
  std::uint32_t links_ = 0;
};

}  // namespace impart::cost
