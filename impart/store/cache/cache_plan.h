#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/partition.h"
#include "impart/placement/step_plan.h"
#include "impart/store/cache/policies.h"
#include "impart/store/flow.h"

namespace impart::store {

/// What all processes know of an epoch before it begins. Everything must outlive the epoch.
struct EpochReads {
  const placement::StepPlan* steps = nullptr;
  std::uint32_t first_step = 0;  ///< of those that are run: the others were before a restart
  const placement::Partition* partition = nullptr;
  /// Whether workers keep most of their parts after this epoch: a cache then holds what is theirs,
  /// and lets go what changed its owner.
  bool keeps_parts = false;
  std::span<const float> expected_visits = {};  ///< see CacheWorth
};

/// Where a process keeps an example.
enum class CacheTier : std::uint8_t { kNone, kMemory, kDisk };

struct CachePlanSpec {
  std::uint64_t examples = 0;
  std::uint32_t workers = 1, processes = 1;
  std::uint64_t memory_bytes = 0, disk_bytes = 0;  ///< of payloads, in each process
  CacheWorth* worth = worth_the_same;
  /// A miss asks who has it; so no two processes keep the same.
  bool cooperative = false;
  PayloadSizes sizes = {};
  /// How many steps before a step its examples may be read.
  std::uint32_t steps_ahead = 0;
  /// The only process whose cache is planned, where nothing comes from others; none: all are.
  std::optional<std::uint32_t> only = {};
};

/// An example that one process sends another, for a step.
struct CachePromise {
  ExampleId id{};
  std::uint32_t from = 0, to = 0;
  std::uint32_t step = 0;
  std::uint32_t visits = 0;  ///< of the epoch, that it answers

  friend bool operator==(const CachePromise&, const CachePromise&) = default;
};

/// What an epoch's reads of one process come to.
struct CacheCounts {
  std::uint64_t memory_hits = 0, disk_hits = 0, peer_hits = 0, misses = 0;  ///< visits
  std::uint64_t bytes_peers = 0;   ///< received, with kFrameBytes each
  std::uint64_t bytes_missed = 0;  ///< payloads that the source has to give
};

/// An example that a cache lets go when a step begins: nobody needs it from then on.
struct CacheDrop {
  ExampleId id{};
  std::uint32_t step = 0;
};

/// What the cache of one process does in an epoch.
struct ProcessCaching {
  std::vector<ExampleId> drop = {};       ///< before the epoch
  std::vector<CacheDrop> drop_at = {};    ///< in the order of steps
  std::vector<ExampleId> drop_late = {};  ///< after it: until then others need them
  std::vector<ExampleId> keep = {};       ///< when they are read
  std::vector<CacheTier> keep_in = {};    ///< for each of these
  CacheCounts counts = {};
};

struct EpochCaching {
  std::vector<ProcessCaching> processes = {};  ///< by rank; empty for those that are not planned
  /// For each receiver in the order of its visits, receivers in the order of ranks.
  std::vector<CachePromise> promises = {};
};

/// Who keeps which examples, over the epochs of a run. A process keeps what it reads while there is
/// room; where worths differ, what is worth most of what it has and reads, those it has first. What
/// makes room for others does so after its last visit of the epoch, and if these are read only
/// then: so no hit is lost, and there is never more than there is room for. All of it follows from
/// the visits, the sizes and the room, so every process knows what every other keeps, and a
/// simulation knows it without a run. Linear in visits and examples; 9 bytes for each example,
/// without `cooperative` and `only` one more for each and process.
class CachePlan {
 public:
  explicit CachePlan(CachePlanSpec spec);

  /// A process has this from an earlier run. Of two that do in a cooperative plan the first counts.
  /// Whether it is taken: there may be no room.
  bool add_held(std::uint32_t process, ExampleId id, CacheTier tier);

  /// Decides for an epoch. With `moves_from_peers` examples that are kept by their old owner's
  /// process come from there; with a cooperative plan all that somebody keeps do.
  EpochCaching begin_epoch(const EpochReads& reads, bool moves_from_peers);

  /// What a process keeps, after the epoch that was begun last.
  CacheTier tier(std::uint32_t process, ExampleId id) const;
  std::uint64_t bytes(std::uint32_t process, CacheTier tier) const;

 private:
  struct Contents {
    std::vector<ExampleId> ids = {};
    std::uint64_t memory = 0, disk = 0;  ///< bytes
    std::uint64_t& of(CacheTier tier) { return tier == CacheTier::kDisk ? disk : memory; }
  };
  struct Candidate {
    ExampleId id{};
    CacheTier held = CacheTier::kNone;
    std::uint32_t step = 0;  ///< of the first visit, if it is not held
    float worth = 0;
  };
  /// Held, and worth less than others that could be.
  struct Leaver {
    ExampleId id{};
    CacheTier held = CacheTier::kNone;
    std::uint64_t bytes = 0;
    bool is_used = false;         ///< in this epoch
    std::uint32_t free_from = 0;  ///< the step from which on it is not
  };
  struct FirstVisit {
    ExampleId id{};
    std::uint32_t step = 0;
  };

  bool plans(std::uint32_t process) const { return !spec_.only || *spec_.only == process; }
  std::uint32_t process_of(WorkerId worker) const;
  void set_tier(std::uint32_t process, ExampleId id, CacheTier tier);
  bool has_room(const Contents& contents, CacheTier tier, std::uint64_t bytes) const;
  std::optional<CacheTier> room_for(const Contents& contents, std::uint64_t bytes) const;

  std::vector<FirstVisit> first_visits(const EpochReads& reads, std::uint32_t process);
  void promise(std::uint32_t process, const std::vector<FirstVisit>& visits, bool asks_peers,
               EpochCaching& caching);
  std::vector<Candidate> find_candidates(std::uint32_t process,
                                         const std::vector<FirstVisit>& visits,
                                         const EpochReads& reads, ProcessCaching& caching) const;
  bool is_used_here(std::uint32_t process, ExampleId id, const EpochReads& reads) const;
  void choose(std::uint32_t process, const std::vector<FirstVisit>& visits, const EpochReads& reads,
              ProcessCaching& caching);
  void take_in(const std::vector<Candidate>& candidates, float least, std::vector<Leaver>& leavers,
               Contents& next, ProcessCaching& caching) const;
  void count(const EpochReads& reads, std::uint32_t process, CacheCounts& counts);

  CachePlanSpec spec_;
  std::vector<Contents> contents_;             ///< by process
  std::vector<std::uint32_t> holder_;          ///< cooperative: process + 1, 0 for nobody
  std::vector<std::vector<CacheTier>> tiers_;  ///< by process, or one list if cooperative
  std::vector<std::uint32_t> leaves_;          ///< by example: process + 1 it leaves this epoch
  std::vector<std::uint32_t> visits_;          ///< by example, of the epoch
  std::vector<std::uint32_t> last_steps_;      ///< by example, of those visits
  enum class Fate : std::uint8_t { kNone, kMemory, kDisk, kPeer, kMiss };
  std::vector<Fate> fates_;  ///< of the first visit
};

}  // namespace impart::store
