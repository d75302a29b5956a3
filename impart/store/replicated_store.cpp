#include "impart/store/replicated_store.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/hosted_workers.h"
#include "impart/store/cache/cached_store.h"
#include "impart/store/cache/disk_cache.h"
#include "impart/store/cache/read_counts.h"
#include "impart/store/payload_cache.h"
#include "impart/store/shelf_journal.h"
#include "impart/store/stores.h"

namespace impart::store {
namespace {

class ReplicatedStore final : public Store {
 public:
  ReplicatedStore(const ReplicatedStoreSpec& spec, const placement::HostedWorkers& hosted,
                  const comm::Communicator& communicator,
                  std::shared_ptr<const data::PayloadSource> source)
      : hosted_(hosted),
        source_(std::move(source)),
        keeps_in_memory_(spec.cache_bytes > 0),
        cache_(spec.cache_bytes),
        counts_(hosted.count) {
    if (spec.disk_path.empty()) return;
    disk_.emplace(DiskCacheSpec{.path = spec.disk_path,
                                .data_id = spec.data_id,
                                .bytes = spec.disk_bytes,
                                .process = communicator.rank(),
                                .processes = communicator.size()},
                  *source_);
  }

  void settle(const placement::Partition&) override {}
  void start_moves(const placement::MovePlan&) override {}
  bool advance_moves() override { return true; }
  void end_epoch() override {
    if (disk_) disk_->flush();
  }

  bool holds(ExampleId id) const override { return index(id) < source_->examples(); }

  /// What will be read before is what the caches then used last.
  bool needs_source(ExampleId id, bool again) const override {
    const bool will_be_kept = again && (keeps_in_memory_ || disk_);
    return !will_be_kept && !cache_.holds(id) && !(disk_ && disk_->contains(id));
  }

  void read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload) override {
    if (!holds(id) || !hosted_.contains(worker)) {
      throw Error(
          fmt::format("example {} of worker {} cannot be read here", index(id), index(worker)));
    }
    ReadCounts& counts = counts_[index(worker) - hosted_.first];
    if (cache_.look_up(id, payload)) {
      ++counts.hits;
      return;
    }
    if (disk_ && disk_->look_up(id, payload)) {
      ++counts.hits_disk;
      counts.bytes_local += payload.size();
      return cache_.keep(id, payload);
    }
    payload.resize(source_->payload_bytes(id));
    const std::uint64_t bytes = source_->read(id, payload);
    if (bytes == 0 && !source_->is_remote()) return;  // it was in memory all the time
    ++counts.misses;
    counts.bytes_source += bytes;
    cache_.keep(id, payload);
    if (!disk_) return;
    disk_->keep(id, payload, true);
    counts.bytes_written += payload.size() + ShelfJournal::kRecordBytes;
  }

  std::vector<StorageCost> take_costs() override { return take_counts(counts_); }

 private:
  placement::HostedWorkers hosted_;
  std::shared_ptr<const data::PayloadSource> source_;
  bool keeps_in_memory_;
  PayloadCache cache_;
  std::optional<DiskCache> disk_;
  std::vector<ReadCounts> counts_;
};

}  // namespace

std::unique_ptr<Store> make_replicated_store(const ReplicatedStoreSpec& spec,
                                             comm::Communicator& communicator,
                                             std::shared_ptr<const data::PayloadSource> source) {
  const placement::HostedWorkers hosted =
      placement::hosted_workers(spec.workers, communicator.rank(), communicator.size());
  return std::make_unique<ReplicatedStore>(spec, hosted, communicator, std::move(source));
}

std::unique_ptr<Store> open_replicated(const StoreSpec& spec, comm::Communicator& communicator,
                                       std::shared_ptr<const data::PayloadSource> source) {
  const CacheSpec& cache = spec.cache;
  if (cache.policy->is_planned) {
    return make_cached_store({.workers = spec.workers,
                              .memory_bytes = cache.memory_bytes,
                              .disk_path = cache.disk_path,
                              .disk_bytes = cache.disk_bytes,
                              .data_id = spec.data_id,
                              .policy = cache.policy,
                              .cooperative = cache.cooperative,
                              .move_from = cache.move_from,
                              .steps_ahead = cache.steps_ahead},
                             communicator, std::move(source));
  }
  return make_replicated_store({.workers = spec.workers,
                                .cache_bytes = cache.memory_bytes,
                                .disk_path = cache.disk_path,
                                .disk_bytes = cache.disk_bytes,
                                .data_id = spec.data_id},
                               communicator, std::move(source));
}

}  // namespace impart::store
