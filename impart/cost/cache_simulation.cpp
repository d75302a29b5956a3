#include "impart/cost/cache_simulation.h"

#include <algorithm>
#include <list>
#include <unordered_map>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cost {
namespace {

class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::uint64_t capacity) : capacity_(capacity) {}

  /// Whether the example was there; afterwards it is.
  bool read(ExampleId id) {
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

 private:
  std::uint64_t capacity_;
  std::list<std::uint64_t> order_;  ///< the last one used in front
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

class Caches {
 public:
  Caches(std::uint32_t workers, const CacheSimulationSpec& spec)
      : workers_(workers), caches_(spec.processes, RecentlyUsed(spec.capacity)) {}

  /// All workers read their parts side by side.
  void read(const placement::Parts& parts) {
    std::size_t longest = 0;
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      longest = std::max(longest, parts.of(WorkerId{worker}).size());
    }
    for (std::size_t i = 0; i < longest; ++i) {
      for (std::uint32_t worker = 0; worker < workers_; ++worker) {
        const auto part = parts.of(WorkerId{worker});
        if (i < part.size()) read(worker, part[i]);
      }
    }
  }

  /// The share of hits since the last call.
  double take_share() {
    const double share = reads_ == 0 ? 0 : static_cast<double>(hits_) / static_cast<double>(reads_);
    hits_ = reads_ = 0;
    return share;
  }

 private:
  void read(std::uint32_t worker, ExampleId id) {
    const std::uint64_t process = std::uint64_t{worker} * caches_.size() / workers_;
    hits_ += caches_[process].read(id);
    ++reads_;
  }

  std::uint32_t workers_;
  std::vector<RecentlyUsed> caches_;
  std::uint64_t hits_ = 0, reads_ = 0;
};

}  // namespace

std::vector<double> simulate_cache(const placement::PlacementSpec& decisions,
                                   const CacheSimulationSpec& spec) {
  if (spec.processes == 0 || spec.processes > decisions.workers) {
    throw ConfigError(fmt::format("{} processes cannot host {} workers; each needs at least one",
                                  spec.processes, decisions.workers));
  }
  SimulatedPlacement simulated(decisions, spec.placement);
  Caches caches(decisions.workers, spec);
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
