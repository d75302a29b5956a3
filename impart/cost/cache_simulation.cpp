#include "impart/cost/cache_simulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cost {
bool RecentlyRead::read(ExampleId id) {
  const auto found = places_.find(index(id));
  if (found != places_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return true;
  }
  if (capacity_ == 0) return false;
  if (places_.size() == capacity_) {
    places_.erase(order_.back());
    order_.pop_back();
  }
  order_.push_front(index(id));
  places_.emplace(index(id), order_.begin());
  return false;
}

RecentCaches::RecentCaches(std::uint32_t workers, std::uint32_t processes, std::uint64_t capacity)
    : workers_(workers), caches_(processes, RecentlyRead(capacity)) {
  if (processes > 0 && processes <= workers) return;
  throw ConfigError(fmt::format("{} processes cannot host {} workers; each needs at least one",
                                processes, workers));
}

void RecentCaches::read(const placement::Parts& lists) {
  std::size_t longest = 0;
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    longest = std::max(longest, lists.of(WorkerId{worker}).size());
  }
  for (std::size_t i = 0; i < longest; ++i) {
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      const auto list = lists.of(WorkerId{worker});
      if (i < list.size()) read(worker, list[i]);
    }
  }
}

void RecentCaches::read(std::uint32_t worker, ExampleId id) {
  const std::uint64_t process = std::uint64_t{worker} * caches_.size() / workers_;
  hits_ += caches_[process].read(id);
  ++reads_;
}

double RecentCaches::take_share() {
  const double share = reads_ == 0 ? 0 : static_cast<double>(hits_) / static_cast<double>(reads_);
  hits_ = reads_ = 0;
  return share;
}

std::vector<double> simulate_cache(const placement::PlacementSpec& decisions,
                                   const CacheSimulationSpec& spec) {
  RecentCaches caches(decisions.workers, spec.processes, spec.capacity);
  SimulatedPlacement simulated(decisions, spec.placement);
  std::vector<double> shares;
  auto event = simulated.schedule().begin();
  for (std::uint32_t epoch = 0; epoch < std::min(spec.epochs, decisions.epochs.value()); ++epoch) {
    if (event != simulated.schedule().end() && event->epoch == epoch) {
      if (simulated.has_importance_pass(*event)) {
        caches.read(simulated.placement().partition().parts());
      }
      simulated.prepare_epoch(epoch);
      ++event;
    }
    caches.read(simulated.placement().order(epoch));
    shares.push_back(caches.take_share());
  }
  return shares;
}

}  // namespace impart::cost
