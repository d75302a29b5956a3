#include "impart/cost/cluster/max_min.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace impart::cost {
namespace {

constexpr double kNoRate = -1;

}  // namespace

MaxMinSolver::MaxMinSolver(std::vector<double> link_rates) : links_(link_rates.size()) {
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i].rate = link_rates[i];
}

void MaxMinSolver::list_flows(std::span<const Route* const> routes) {
  for (const std::uint32_t link : used_) links_[link].flows = 0;
  used_.clear();
  std::uint32_t all = 0;
  for (const Route* route : routes) {
    for (const std::uint32_t link : route->links()) {
      if (links_[link].flows++ == 0) used_.push_back(link);
      ++all;
    }
  }
  std::uint32_t first = 0;
  for (const std::uint32_t link : used_) {
    Link& found = links_[link];
    found.left = found.rate;
    found.first = first;
    found.through = 0;
    first += found.flows;
  }
  through_.resize(all);
  for (std::uint32_t flow = 0; flow < routes.size(); ++flow) {
    for (const std::uint32_t link : routes[flow]->links()) {
      through_[links_[link].first + links_[link].through++] = flow;
    }
  }
}

void MaxMinSolver::give(std::uint32_t flow, const Route& route, double rate) {
  rates_[flow] = rate;
  for (const std::uint32_t link : route.links()) {
    links_[link].left = std::max(0.0, links_[link].left - rate);
    --links_[link].flows;
  }
}

/// The link with the smallest share for each of its flows gives them that; then the next. Shares of
/// the others only grow by it, so an entry of the queue that is out of date is too small, and goes
/// back with what is right.
const std::vector<double>& MaxMinSolver::solve(std::span<const Route* const> routes) {
  list_flows(routes);
  rates_.assign(routes.size(), kNoRate);
  using Entry = std::pair<double, std::uint32_t>;
  std::vector<Entry> entries;
  entries.reserve(used_.size());
  for (const std::uint32_t link : used_) entries.emplace_back(links_[link].share(), link);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>(),
                                                                       std::move(entries));
  while (!queue.empty()) {
    const auto [share, number] = queue.top();
    queue.pop();
    const Link& link = links_[number];
    if (link.flows == 0) continue;
    if (link.share() > share * (1 + 1e-12)) {
      queue.emplace(link.share(), number);
      continue;
    }
    for (std::uint32_t i = link.first; i < link.first + link.through; ++i) {
      const std::uint32_t flow = through_[i];
      if (rates_[flow] == kNoRate) give(flow, *routes[flow], share);
    }
  }
  return rates_;
}

}  // namespace impart::cost
