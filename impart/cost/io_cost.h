#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "impart/config/config.h"
#include "impart/core/progress.h"
#include "impart/cost/planned_caches.h"
#include "impart/cost/recorded_losses.h"
#include "impart/placement/placement.h"
#include "impart/placement/step_plan.h"

namespace impart::cost {

// What a run would cost in disk and network, without training: the real schedule, heuristics and
// exchanges decide over synthetic importance (SyntheticImportance), or over what a run has
// recorded, and what they decide is counted.

/// What a moved example costs on the wire beside its payload: its hash. (Acknowledgements, 8 bytes
/// for hundreds of examples, are left out.)
inline constexpr std::uint64_t kWireBytesPerMove = 8;
/// What a local directory writes beside a payload: a journal record when an example comes, and one
/// when it goes.
inline constexpr std::uint64_t kJournalBytesPerChange = 48;

/// Costs of one epoch, of a mean epoch, or of a run, over all workers together.
///
/// A replicated store reads every example from the data set's files each time it is needed, less
/// what its caches answer, and sends nothing. A partitioned store reads every example from there
/// once; from then on examples travel. If it keeps them in local directories, each use and each
/// sending reads there, and each arrival writes.
struct IoCost {
  double examples_moved = 0;
  double flows = 0;             ///< distinct (from, to) pairs of workers per exchange, added up
  double importance_pass = 0;   ///< examples in forward passes that only learn the importance
  double visits = 0;            ///< in training steps
  double visits_hidden = 0;     ///< examples that a selection leaves out of an epoch
  double visits_refreshed = 0;  ///< of them, that have a forward pass instead
  double network_bytes = 0;     ///< of a partitioned store
  double replicated_source_bytes = 0;
  double partitioned_source_bytes = 0;
  double local_read_bytes = 0;  ///< with local directories
  double local_written_bytes = 0;
  double cache_hits = 0;  ///< reads of a replicated store that are answered from memory, ...
  double cache_hits_disk = 0, cache_hits_peers = 0;
  double cache_misses = 0;  ///< ... or by the source
  double peer_bytes = 0;    ///< between caches
};

/// A member of IoCost, for tables of all of them.
struct IoQuantity {
  std::string_view name;
  double IoCost::*value;
  bool is_bytes;
};
inline constexpr IoQuantity kIoQuantities[] = {
    {"examples_moved", &IoCost::examples_moved, false},
    {"flows", &IoCost::flows, false},
    {"importance_pass", &IoCost::importance_pass, false},
    {"visits", &IoCost::visits, false},
    {"visits_hidden", &IoCost::visits_hidden, false},
    {"visits_refreshed", &IoCost::visits_refreshed, false},
    {"network_bytes", &IoCost::network_bytes, true},
    {"replicated_source_bytes", &IoCost::replicated_source_bytes, true},
    {"partitioned_source_bytes", &IoCost::partitioned_source_bytes, true},
    {"local_read_bytes", &IoCost::local_read_bytes, true},
    {"local_written_bytes", &IoCost::local_written_bytes, true},
    {"cache_hits", &IoCost::cache_hits, false},
    {"cache_hits_disk", &IoCost::cache_hits_disk, false},
    {"cache_hits_peers", &IoCost::cache_hits_peers, false},
    {"cache_misses", &IoCost::cache_misses, false},
    {"peer_bytes", &IoCost::peer_bytes, true},
};

/// What happens in one epoch.
struct EpochFacts {
  bool is_first = false;
  double moved = 0;  ///< examples that change their worker before it
  double flows = 0;
  bool importance_pass = false;
  double examples = 0;                ///< of the data set
  std::optional<double> visits = {};  ///< in training steps; none: every example once
  double hidden = 0, refreshed = 0;   ///< examples that a selection leaves out, or only looks at
  double payload_bytes = 0;           ///< mean of an example
  CacheShares caches = {};            ///< of the reads in a replicated store
};
IoCost epoch_cost(const EpochFacts& facts);

struct IoSpec {
  std::uint64_t examples = 0;
  double payload_bytes = 0;            ///< mean size of an example as it is stored
  std::uint64_t cache_bytes = 0;       ///< of each process, in a replicated store
  std::uint64_t cache_disk_bytes = 0;  ///< the same, on its disk
  const store::CachePolicyEntry* cache_policy = &store::kCachePolicies[0];
  bool cooperative = false;
  bool moves_from_peers = true;  ///< what is cached, when its owner changes
  std::uint32_t processes = 0;   ///< that the workers are spread over; 0: one for each worker
  double drift = 0.3;            ///< of the importance, see SyntheticImportance
  std::uint32_t classes = 10;    ///< for heuristics that look at classes
  /// How many examples may be decided on, summed over events; about 0.1 µs each. A longer run is
  /// represented by fewer events of each kind, and a larger data set by a smaller one.
  std::uint64_t work = 20'000'000;
  /// What decides in place of synthetic importance (replay_run): then every epoch is decided, and
  /// on all examples. None: nothing was recorded.
  const RecordedLosses* recorded = nullptr;
  // How such epochs become steps, and so in which order a process reads.
  std::uint32_t batch = 32;
  placement::Uneven uneven = placement::Uneven::kWeight;
  std::uint32_t steps_ahead = 0;  ///< see store::CachePlanSpec
};

struct StrategyCost {
  IoCost first;  ///< the first epoch
  IoCost later;  ///< mean of the epochs after it; 0 if there are none
  IoCost run;
  /// Examples that a run moves in the mean, where a formula is known: expected_moves().
  std::optional<double> expected_moved;
  /// Most examples that a worker of a partitioned store holds, if it forgets nothing before all
  /// that come have arrived, and what it may hold: ⌈(1+Q)⌈N/n⌉⌉, with Q = 1 if it repartitions.
  std::uint64_t peak_stored = 0, peak_bound = 0;
  std::uint64_t events = 0, events_simulated = 0;
  std::uint64_t examples_simulated = 0;  ///< size of the data set that stood for the real one
};

/// ConfigError if the schedule or the spec contradicts itself, or what was recorded.
StrategyCost predict_io(const placement::PlacementSpec& decisions, const IoSpec& spec,
                        const Progress& progress = {});

/// Steps that the largest part takes in an epoch; `batch` examples per worker and step.
std::uint64_t steps_per_epoch(std::uint64_t examples, std::uint32_t workers, std::uint32_t batch);

/// How often workers add up gradients, or weights, in an epoch of so many steps.
std::uint64_t sums_in_epoch(const config::RunConfig& config, std::uint32_t epoch,
                            std::uint64_t steps);

struct WeightSpec {
  config::RunConfig config = {};
  std::uint64_t examples = 0;
  std::uint64_t parameters = 0;
};
/// What all workers together send in the run to have one model (run::weight_bytes), parts being
/// even; mean of an epoch.
double weight_bytes_per_epoch(const WeightSpec& spec);

}  // namespace impart::cost
