#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/cost/cluster/topology.h"

namespace impart::cost {

/// How links are shared by what flows through them: max-min fairly. No flow can be given more
/// without taking it from one that has no more than that, which is what TCP and credits of switches
/// come to on average, and what SimGrid computes.
class MaxMinSolver {
 public:
  explicit MaxMinSolver(std::vector<double> link_rates);

  /// The rate of every flow, in the order of the routes. O(n log n) for n links in routes.
  const std::vector<double>& solve(std::span<const Route* const> routes);

 private:
  struct Link {
    double rate = 0;            ///< of the link
    double left = 0;            ///< of it, not yet given to a flow
    std::uint32_t flows = 0;    ///< that have no rate yet
    std::uint32_t first = 0;    ///< in through_
    std::uint32_t through = 0;  ///< flows
    double share() const { return left / flows; }
  };

  void list_flows(std::span<const Route* const> routes);
  void give(std::uint32_t flow, const Route& route, double rate);

  std::vector<Link> links_;
  std::vector<std::uint32_t> used_;     ///< links with flows
  std::vector<std::uint32_t> through_;  ///< flows, link by link
  std::vector<double> rates_;
};

}  // namespace impart::cost
