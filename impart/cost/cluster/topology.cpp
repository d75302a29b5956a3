#include "impart/cost/cluster/topology.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cost {
namespace {

constexpr std::uint32_t kLeaf = 32, kRouterNodes = 8;

std::uint32_t divide_rounding_up(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

void check_topology(const TopologySpec& spec) {
  if (spec.nodes == 0) throw ConfigError("a cluster of 0 nodes; there must be at least 1");
  if (!(spec.rate > 0)) throw ConfigError("how fast is the network? a link must have a rate");
  if (!(spec.oversubscription >= 1)) {
    throw ConfigError(
        fmt::format("an oversubscription of {}; it is 1 or more", spec.oversubscription));
  }
}

}  // namespace

Topology::Topology(const TopologySpec& spec) : spec_(spec) {
  check_topology(spec);
  if (spec_.leaf == 0) spec_.leaf = spec.kind == TopologyKind::kDragonfly ? kRouterNodes : kLeaf;
  const bool adaptive = spec.routing == Routing::kAdaptive;
  switches_ = divide_rounding_up(spec.nodes, spec_.leaf);
  links_ = 2 * spec.nodes;
  if (spec.kind == TopologyKind::kFatTree) {
    ways_ =
        std::max(1u, static_cast<std::uint32_t>(std::lround(spec_.leaf / spec.oversubscription)));
    ways_kept_apart_ = adaptive ? 1 : ways_;
    if (switches_ > 1) links_ += 2 * switches_ * ways_kept_apart_;
  } else if (spec.kind == TopologyKind::kDragonfly) {
    routers_ = 2 * spec_.leaf;
    groups_ = divide_rounding_up(switches_, routers_);
    if (groups_ > 1) ways_ = std::max(1u, routers_ * spec_.leaf / (groups_ - 1));
    ways_kept_apart_ = adaptive ? 1 : ways_;
    links_ += groups_ * routers_ * routers_ + groups_ * groups_ * ways_kept_apart_;
  }
}

double Topology::rate(std::uint32_t link) const {
  const std::uint32_t inner = 2 * spec_.nodes;
  const std::uint32_t first_bundle =
      spec_.kind == TopologyKind::kDragonfly ? inner + groups_ * routers_ * routers_ : inner;
  const bool bundled = spec_.routing == Routing::kAdaptive && link >= first_bundle;
  return bundled ? spec_.rate * ways_ : spec_.rate;
}

/// Which of so many ways.
std::uint32_t Topology::choose(std::uint32_t from, std::uint32_t to, std::uint32_t ways) const {
  if (spec_.routing == Routing::kStatic) return to % ways;
  std::uint64_t mixed = (std::uint64_t{from} << 32 | to) * 0x9E37'79B9'7F4A'7C15u;
  mixed = (mixed ^ mixed >> 29) * 0xBF58'476D'1CE4'E5B9u;
  return static_cast<std::uint32_t>((mixed ^ mixed >> 32) % ways);
}

Route Topology::route(std::uint32_t from, std::uint32_t to) const {
  Route route;
  route.add(from);
  if (spec_.kind == TopologyKind::kFatTree) route_through_tree(from, to, route);
  if (spec_.kind == TopologyKind::kDragonfly) route_through_groups(from, to, route);
  route.add(spec_.nodes + to);
  return route;
}

void Topology::route_through_tree(std::uint32_t from, std::uint32_t to, Route& route) const {
  const std::uint32_t up = from / spec_.leaf, down = to / spec_.leaf;
  if (up == down) return;
  const std::uint32_t first = 2 * spec_.nodes;
  const std::uint32_t way = choose(from, to, ways_kept_apart_);
  route.add(first + up * ways_kept_apart_ + way);
  route.add(first + (switches_ + down) * ways_kept_apart_ + way);
}

/// Link k from group g to group h leaves at router (h + k) mod r of g, and arrives at (g + k) mod r
/// of h.
void Topology::route_through_groups(std::uint32_t from, std::uint32_t to, Route& route) const {
  const std::uint32_t source = from / spec_.leaf, target = to / spec_.leaf;
  const std::uint32_t g = source / routers_, h = target / routers_;
  const std::uint32_t inside = 2 * spec_.nodes;
  const auto within = [&](std::uint32_t group, std::uint32_t a, std::uint32_t b) {
    if (a != b) route.add(inside + (group * routers_ + a) * routers_ + b);
  };
  if (g == h) return within(g, source % routers_, target % routers_);
  const std::uint32_t way = choose(from, to, ways_);
  within(g, source % routers_, (h + way) % routers_);
  const std::uint32_t between = inside + groups_ * routers_ * routers_;
  route.add(between + (g * groups_ + h) * ways_kept_apart_ + way % ways_kept_apart_);
  within(h, (g + way) % routers_, target % routers_);
}

std::string Topology::name(std::uint32_t link) const {
  if (link < spec_.nodes) return fmt::format("node {} out", link);
  if (link < 2 * spec_.nodes) return fmt::format("node {} in", link - spec_.nodes);
  return spec_.kind == TopologyKind::kFatTree ? name_in_tree(link) : name_in_groups(link);
}

std::string Topology::name_in_tree(std::uint32_t link) const {
  const std::uint32_t number = link - 2 * spec_.nodes;
  const std::uint32_t leaf = number / ways_kept_apart_ % switches_;
  const std::uint32_t spine = number % ways_kept_apart_;
  const bool up = number / ways_kept_apart_ < switches_;
  if (spec_.routing == Routing::kAdaptive)
    return fmt::format("leaf {} {}", leaf, up ? "up" : "down");
  return up ? fmt::format("leaf {} to spine {}", leaf, spine)
            : fmt::format("spine {} to leaf {}", spine, leaf);
}

std::string Topology::name_in_groups(std::uint32_t link) const {
  const std::uint32_t number = link - 2 * spec_.nodes;
  const std::uint32_t inside = groups_ * routers_ * routers_;
  if (number < inside) {
    return fmt::format("g{}: r{} to r{}", number / routers_ / routers_,
                       number / routers_ % routers_, number % routers_);
  }
  const std::uint32_t bundle = (number - inside) / ways_kept_apart_;
  const std::string groups = fmt::format("g{} to g{}", bundle / groups_, bundle % groups_);
  if (spec_.routing == Routing::kAdaptive) return groups;
  return fmt::format("{}, link {}", groups, (number - inside) % ways_kept_apart_);
}

std::string Topology::describe() const {
  const auto routing = std::find_if(std::begin(kRoutings), std::end(kRoutings),
                                    [&](const auto& row) { return row.value == spec_.routing; });
  switch (spec_.kind) {
    case TopologyKind::kSwitch:
      break;
    case TopologyKind::kFatTree:
      return fmt::format("fat tree: {} leaf switches of {} nodes, {} spines ({:.3g}:1), {} routing",
                         switches_, spec_.leaf, ways_, static_cast<double>(spec_.leaf) / ways_,
                         routing->name);
    case TopologyKind::kDragonfly:
      return fmt::format(
          "dragonfly: {} groups of {} routers of {} nodes, {} links between groups, {} routing",
          groups_, routers_, spec_.leaf, groups_ > 1 ? ways_ : 0, routing->name);
  }
  return "one switch";
}

}  // namespace impart::cost
