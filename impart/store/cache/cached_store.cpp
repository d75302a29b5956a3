#include "impart/store/cache/cached_store.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/hosted_workers.h"
#include "impart/store/cache/disk_cache.h"
#include "impart/store/cache/kept_payloads.h"
#include "impart/store/cache/peer_exchange.h"
#include "impart/store/cache/read_counts.h"
#include "impart/store/cache/source_rates.h"
#include "impart/store/shelf_journal.h"

namespace impart::store {
namespace {

using Clock = std::chrono::steady_clock;

class CachedStore final : public Store {
 public:
  CachedStore(const CachedStoreSpec& spec, comm::Communicator& communicator,
              std::shared_ptr<const data::PayloadSource> source)
      : spec_(spec),
        communicator_(communicator),
        hosted_(placement::hosted_workers(spec.workers, communicator.rank(), communicator.size())),
        source_(std::move(source)),
        plan_(plan_spec()),
        wanted_(source_->examples()),
        exchange_(communicator, sizes(), spec.steps_ahead),
        counts_(hosted_.count) {
    if (spec.disk_path.empty()) return;
    // The plan bounds what is kept; what changes its owner may be beside what comes in its place.
    disk_.emplace(DiskCacheSpec{.path = spec.disk_path,
                                .data_id = spec.data_id,
                                .bytes = 2 * spec.disk_bytes,
                                .process = communicator.rank(),
                                .processes = communicator.size()},
                  *source_);
  }

  /// What an earlier run left on the disks is told to all.
  void settle(const placement::Partition&) override {
    if (!disk_) return;
    if (!plans_all()) {
      add_held(communicator_.rank(), disk_->held());
      return;
    }
    const std::size_t bytes = (source_->examples() + 7) / 8;
    std::vector<std::byte> mine(bytes), all(bytes * communicator_.size());
    for (const ExampleId id : disk_->held()) mine[index(id) / 8] |= std::byte{1} << index(id) % 8;
    const std::vector<std::size_t> counts(communicator_.size(), bytes);
    communicator_.all_gather(std::span<const std::byte>(mine), counts, std::span<std::byte>(all));
    for (std::uint32_t process = 0; process < communicator_.size(); ++process) {
      std::vector<ExampleId> held;
      for (std::uint64_t i = 0; i < source_->examples(); ++i) {
        const std::byte bits = all[process * bytes + i / 8];
        if ((bits >> i % 8 & std::byte{1}) != std::byte{0}) held.push_back(ExampleId{i});
      }
      add_held(process, held);
    }
  }

  void start_moves(const placement::MovePlan&) override {}
  bool advance_moves() override {
    exchange_.advance();
    return true;
  }

  void begin_epoch(const EpochReads& reads) override {
    // Caches follow their owners only where parts stay; else nobody compares rates.
    const bool moves_from_peers =
        reads.keeps_parts && rates_.choose_peers(spec_.move_from, communicator_);
    EpochCaching caching = plan_.begin_epoch(reads, moves_from_peers);
    ProcessCaching& mine = caching.processes[communicator_.rank()];
    for (const ExampleId id : mine.drop) drop(id);
    for (const ExampleId id : mine.drop_late) wanted_[index(id)] = CacheTier::kNone;
    for (const CacheDrop& gone : mine.drop_at) wanted_[index(gone.id)] = CacheTier::kNone;
    for (std::size_t i = 0; i < mine.keep.size(); ++i) {
      wanted_[index(mine.keep[i])] = mine.keep_in[i];
    }
    drop_late_ = std::move(mine.drop_late);
    drop_at_.assign(mine.drop_at.begin(), mine.drop_at.end());
    exchange_.begin(caching.promises);
    begin_step(reads.first_step);
  }

  void begin_step(std::uint32_t step) override {
    for (; !drop_at_.empty() && drop_at_.front().step <= step; drop_at_.pop_front()) {
      drop(drop_at_.front().id);
    }
    exchange_.begin_step(
        step, [this](ExampleId id, std::vector<std::byte>& payload) { return serve(id, payload); });
  }

  void end_epoch() override {
    exchange_.finish();
    for (const ExampleId id : drop_late_) {
      if (wanted_[index(id)] == CacheTier::kNone) drop(id);
    }
    drop_late_.clear();
    if (disk_) disk_->flush();
  }

  bool holds(ExampleId id) const override {
    return index(id) < source_->examples() && !exchange_.awaits(id);
  }

  /// What the visit before will leave here does not have to come twice.
  bool needs_source(ExampleId id, bool again) const override {
    const bool will_be_kept = again && wanted_[index(id)] != CacheTier::kNone;
    return !will_be_kept && !memory_.holds(id) && !(disk_ && disk_->contains(id)) &&
           !exchange_.promises(id);
  }

  void read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload) override {
    if (index(id) >= source_->examples() || !hosted_.contains(worker)) {
      throw Error(
          fmt::format("example {} of worker {} cannot be read here", index(id), index(worker)));
    }
    ReadCounts& counts = counts_[index(worker) - hosted_.first];
    if (take_kept(id, payload, counts)) return;
    if (exchange_.take(id, payload) == PeerExchange::Taken::kHere) {
      ++counts.hits_peers;
      counts.bytes_peers += payload.size() + kFrameBytes;
      return keep(id, payload, counts);
    }
    const std::uint64_t bytes = read_source(id, payload);
    // Nothing came because it was in memory all the time, or because it came with another visit.
    if (bytes == 0 && !source_->is_remote()) return;
    ++counts.misses;
    counts.bytes_source += bytes;
    keep(id, payload, counts);
  }

  std::vector<StorageCost> take_costs() override { return take_counts(counts_); }

 private:
  bool plans_all() const {
    return communicator_.size() > 1 && (spec_.cooperative || spec_.move_from != MoveFrom::kSource);
  }

  PayloadSizes sizes() const {
    return [source = source_](ExampleId id) { return source->payload_bytes(id); };
  }

  CachePlanSpec plan_spec() const {
    return {.examples = source_->examples(),
            .workers = spec_.workers,
            .processes = communicator_.size(),
            .memory_bytes = spec_.memory_bytes,
            .disk_bytes = spec_.disk_path.empty() ? 0 : spec_.disk_bytes,
            .worth = spec_.policy->function,
            .cooperative = spec_.cooperative && communicator_.size() > 1,
            .sizes = sizes(),
            .steps_ahead = spec_.steps_ahead,
            .only = plans_all() ? std::nullopt : std::optional(communicator_.rank())};
  }

  void add_held(std::uint32_t process, const std::vector<ExampleId>& held) {
    for (const ExampleId id : held) {
      const bool is_taken = plan_.add_held(process, id, CacheTier::kDisk);
      if (process != communicator_.rank()) continue;
      if (is_taken) {
        wanted_[index(id)] = CacheTier::kDisk;
      } else {
        disk_->drop(id);
      }
    }
  }

  void drop(ExampleId id) {
    wanted_[index(id)] = CacheTier::kNone;
    memory_.drop(id);
    if (disk_) disk_->drop(id);
  }

  bool take_kept(ExampleId id, std::vector<std::byte>& payload, ReadCounts& counts) {
    if (memory_.look_up(id, payload)) {
      ++counts.hits;
      return true;
    }
    if (!disk_ || !disk_->look_up(id, payload)) return false;
    ++counts.hits_disk;
    counts.bytes_local += payload.size();
    return true;
  }

  void keep(ExampleId id, std::span<const std::byte> payload, ReadCounts& counts) {
    const CacheTier tier = wanted_[index(id)];
    if (tier == CacheTier::kMemory) memory_.keep(id, payload);
    if (tier != CacheTier::kDisk || !disk_) return;
    disk_->keep(id, payload, false);
    counts.bytes_written += payload.size() + ShelfJournal::kRecordBytes;
  }

  std::uint64_t read_source(ExampleId id, std::vector<std::byte>& payload) {
    payload.resize(source_->payload_bytes(id));
    const auto start = Clock::now();
    const std::uint64_t bytes = source_->read(id, payload);
    if (bytes > 0) rates_.add_read(bytes, Clock::now() - start);
    return bytes;
  }

  /// For another process. What should be here and is not, because it was damaged or could not be
  /// written, is read again; what the source does not have either the other finds out for itself.
  bool serve(ExampleId id, std::vector<std::byte>& payload) {
    if (memory_.look_up(id, payload)) return true;
    ReadCounts& counts = counts_.front();
    if (disk_ && disk_->look_up(id, payload)) {
      counts.bytes_local += payload.size();
      return true;
    }
    try {
      counts.bytes_source += read_source(id, payload);
      return true;
    } catch (const DataError&) {
      return false;
    }
  }

  CachedStoreSpec spec_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  std::shared_ptr<const data::PayloadSource> source_;
  CachePlan plan_;
  std::vector<std::atomic<CacheTier>> wanted_;  ///< by example: where it is kept when it is read
  KeptPayloads memory_;
  std::optional<DiskCache> disk_;
  PeerExchange exchange_;
  SourceRates rates_;
  std::vector<ExampleId> drop_late_;
  std::deque<CacheDrop> drop_at_;
  std::vector<ReadCounts> counts_;
};

}  // namespace

std::unique_ptr<Store> make_cached_store(const CachedStoreSpec& spec,
                                         comm::Communicator& communicator,
                                         std::shared_ptr<const data::PayloadSource> source) {
  if (spec.policy == nullptr || !spec.policy->is_planned) {
    throw ConfigError("a store whose caches are planned needs a policy that plans");
  }
  return std::make_unique<CachedStore>(spec, communicator, std::move(source));
}

}  // namespace impart::store
