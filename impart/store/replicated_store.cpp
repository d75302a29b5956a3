#include "impart/store/replicated_store.h"

#include <atomic>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/hosted_workers.h"
#include "impart/store/payload_cache.h"
#include "impart/store/stores.h"

namespace impart::store {
namespace {

class ReplicatedStore final : public Store {
 public:
  ReplicatedStore(const ReplicatedStoreSpec& spec, const placement::HostedWorkers& hosted,
                  std::shared_ptr<const data::PayloadSource> source)
      : hosted_(hosted),
        source_(std::move(source)),
        cache_(spec.cache_bytes),
        counts_(hosted.count) {}

  void settle(const placement::Partition&) override {}
  void start_moves(const placement::MovePlan&) override {}
  bool advance_moves() override { return true; }

  bool holds(ExampleId id) const override { return index(id) < source_->examples(); }

  void read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload) override {
    if (!holds(id) || !hosted_.contains(worker)) {
      throw Error(
          fmt::format("example {} of worker {} cannot be read here", index(id), index(worker)));
    }
    Counts& counts = counts_[index(worker) - hosted_.first];
    if (cache_.look_up(id, payload)) {
      ++counts.hits;
      return;
    }
    payload.resize(source_->payload_bytes(id));
    const std::uint64_t bytes = source_->read(id, payload);
    if (bytes == 0) return;
    ++counts.misses;
    counts.bytes += bytes;
    cache_.keep(id, payload);
  }

  std::vector<StorageCost> take_costs() override {
    std::vector<StorageCost> costs;
    for (Counts& counts : counts_) {
      StorageCost& cost = costs.emplace_back();
      cost.bytes_source = counts.bytes.exchange(0);
      cost.cache_hits = counts.hits.exchange(0);
      cost.cache_misses = counts.misses.exchange(0);
    }
    return costs;
  }

 private:
  struct Counts {
    std::atomic<std::uint64_t> bytes = 0, hits = 0, misses = 0;
  };

  placement::HostedWorkers hosted_;
  std::shared_ptr<const data::PayloadSource> source_;
  PayloadCache cache_;
  std::vector<Counts> counts_;
};

}  // namespace

std::unique_ptr<Store> make_replicated_store(const ReplicatedStoreSpec& spec,
                                             comm::Communicator& communicator,
                                             std::shared_ptr<const data::PayloadSource> source) {
  const placement::HostedWorkers hosted =
      placement::hosted_workers(spec.workers, communicator.rank(), communicator.size());
  return std::make_unique<ReplicatedStore>(spec, hosted, std::move(source));
}

std::unique_ptr<Store> open_replicated(const StoreSpec& spec, comm::Communicator& communicator,
                                       std::shared_ptr<const data::PayloadSource> source) {
  return make_replicated_store({.workers = spec.workers, .cache_bytes = spec.cache_bytes},
                               communicator, std::move(source));
}

}  // namespace impart::store
