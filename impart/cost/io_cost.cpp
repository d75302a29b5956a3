#include "impart/cost/io_cost.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/cost/cache_simulation.h"
#include "impart/cost/move_simulation.h"
#include "impart/cost/replay.h"
#include "impart/cost/visit_simulation.h"
#include "impart/run/ledger_file.h"

namespace impart::cost {
namespace {

using Kind = placement::ScheduleEvent::Kind;

// Fewer events of a kind than this say too little about the others, ...
constexpr std::uint64_t kFewestEvents = 5;
// ... more than this say no more, ...
constexpr std::uint64_t kMostEvents = 2000;
// ... and so do parts that are smaller than this.
constexpr std::uint64_t kSmallestPart = 64;
// Shares of hits hardly depend on the size of data set and cache, only on their ratio.
constexpr std::uint64_t kCachedExamples = 2048;
constexpr std::uint64_t kCachedReads = 1'000'000;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

void check(const placement::PlacementSpec& decisions, const IoSpec& spec) {
  placement::check_worker_count(decisions.workers);
  if (!(spec.payload_bytes >= 0)) throw ConfigError("the payload must have 0 bytes or more");
  if (spec.processes > decisions.workers) {
    throw ConfigError("there are more processes than workers; each needs at least one");
  }
}

MoveSimulationSpec simulation_spec(const placement::PlacementSpec& decisions, const IoSpec& spec,
                                   std::uint64_t events) {
  const std::uint64_t affordable = spec.work / std::max<std::uint64_t>(1, spec.examples);
  const std::uint64_t most_events = std::clamp(affordable, kFewestEvents, kMostEvents);
  const std::uint64_t simulated_events = std::max<std::uint64_t>(1, std::min(events, most_events));
  const std::uint64_t examples =
      std::max(spec.work / simulated_events, kSmallestPart * decisions.workers);
  return {.placement = {.examples = std::min(spec.examples, examples),
                        .drift = spec.drift,
                        .classes = spec.classes},
          .examples = spec.examples,
          .most_events = most_events};
}

/// By epoch, what is visited; a small data set stands for a large one.
std::vector<VisitShares> predict_visits(const placement::PlacementSpec& decisions,
                                        const IoSpec& spec) {
  const std::uint64_t examples =
      std::min(spec.examples, std::max(kCachedExamples, kSmallestPart * decisions.workers));
  return simulate_visits(decisions, {.examples = examples, .drift = spec.drift});
}

/// What a cache that keeps what was used last answers. A disk holds what memory does, too.
std::vector<CacheShares> simulate_clock(const placement::PlacementSpec& decisions,
                                        const PlannedCachesSpec& spec) {
  CacheSimulationSpec cache{.placement = spec.placement,
                            .capacity = spec.memory,
                            .processes = spec.processes,
                            .epochs = spec.epochs};
  std::vector<CacheShares> shares;
  for (const double hits : simulate_cache(decisions, cache)) shares.push_back({.memory = hits});
  cache.capacity = spec.disk;
  if (spec.disk <= spec.memory) return shares;
  const std::vector<double> either = simulate_cache(decisions, cache);
  for (std::size_t epoch = 0; epoch < shares.size(); ++epoch) {
    shares[epoch].disk = std::max(0.0, either[epoch] - shares[epoch].memory);
  }
  return shares;
}

CacheShares mean_of(std::span<const CacheShares> epochs) {
  CacheShares mean;
  const auto count = static_cast<double>(epochs.size());
  for (const CacheShares& shares : epochs) {
    mean.memory += shares.memory / count;
    mean.disk += shares.disk / count;
    mean.peers += shares.peers / count;
  }
  return mean;
}

/// In processes that have room for so many examples of a data set that stands for the real one.
PlannedCachesSpec caches_spec(const placement::PlacementSpec& decisions, const IoSpec& spec,
                              std::uint64_t examples) {
  const auto room = [&](std::uint64_t bytes) {
    const double held = static_cast<double>(bytes) / spec.payload_bytes *
                        static_cast<double>(examples) / static_cast<double>(spec.examples);
    return static_cast<std::uint64_t>(std::min(held, static_cast<double>(examples)));
  };
  const bool has_payloads = spec.examples > 0 && spec.payload_bytes > 0;
  return {.placement = {.examples = examples, .drift = spec.drift, .classes = spec.classes},
          .policy = spec.cache_policy,
          .memory = has_payloads ? room(spec.cache_bytes) : 0,
          .disk = has_payloads ? room(spec.cache_disk_bytes) : 0,
          .processes = spec.processes == 0 ? decisions.workers : spec.processes,
          .cooperative = spec.cooperative,
          .moves_from_peers = spec.moves_from_peers,
          .steps_ahead = spec.steps_ahead};
}

/// By epoch, what caches answer.
std::vector<CacheShares> predict_caches(const placement::PlacementSpec& decisions,
                                        const IoSpec& spec) {
  std::vector<CacheShares> all(decisions.epochs.value());
  const std::uint64_t examples =
      std::min(spec.examples, std::max(kCachedExamples, kSmallestPart * decisions.workers));
  PlannedCachesSpec caches = caches_spec(decisions, spec, examples);
  if (caches.memory == 0 && caches.disk == 0) return all;
  caches.epochs = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(2 * kFewestEvents, kCachedReads / examples));
  const std::vector<CacheShares> shares = spec.cache_policy->is_planned
                                              ? simulate_planned_caches(decisions, caches)
                                              : simulate_clock(decisions, caches);
  const CacheShares steady = mean_of(std::span(shares).subspan(shares.size() / 2));
  for (std::size_t epoch = 0; epoch < all.size(); ++epoch) {
    all[epoch] = epoch < shares.size() ? shares[epoch] : steady;
  }
  return all;
}

/// What happens in a run, and on how many examples it was decided.
struct Decided {
  Replay run;
  std::uint64_t examples = 0;
};

Decided decide(const placement::PlacementSpec& decisions, const IoSpec& spec,
               const Progress& progress) {
  if (spec.recorded == nullptr) {
    const auto schedule =
        placement::make_schedule(placement::schedule_spec(with_synthetic_importance(decisions)));
    const MoveSimulationSpec simulation = simulation_spec(decisions, spec, schedule.size());
    return {.run = {.moves = simulate_moves(decisions, simulation, progress),
                    .visits = predict_visits(decisions, spec),
                    .caches = predict_caches(decisions, spec)},
            .examples = simulation.placement.examples};
  }
  if (spec.examples != spec.recorded->examples) {
    throw ConfigError(fmt::format("there are {} examples, and {} had {}", spec.examples,
                                  spec.recorded->folder, spec.recorded->examples));
  }
  const ReplaySpec replay{.losses = spec.recorded,
                          .caches = caches_spec(decisions, spec, spec.examples),
                          .batch = spec.batch,
                          .uneven = spec.uneven};
  return {.run = replay_run(decisions, replay, progress), .examples = spec.examples};
}

void add(IoCost& sum, const IoCost& cost) {
  for (const IoQuantity& quantity : kIoQuantities) sum.*quantity.value += cost.*quantity.value;
}

IoCost mean_after(const IoCost& first, const IoCost& run, std::uint32_t epochs) {
  IoCost mean;
  if (epochs < 2) return mean;
  for (const IoQuantity& quantity : kIoQuantities) {
    mean.*quantity.value = (run.*quantity.value - first.*quantity.value) / (epochs - 1);
  }
  return mean;
}

/// Which share of its part a worker may give away at once.
double largest_share(const placement::PlacementSpec& decisions,
                     const std::vector<EventMoves>& events) {
  double share = 0;
  for (const EventMoves& moves : events) {
    if (moves.event.epoch == 0) continue;
    share = std::max(share, moves.event.kind == Kind::kExchange ? decisions.fraction : 1.0);
  }
  return share;
}

}  // namespace

IoCost epoch_cost(const EpochFacts& facts) {
  const double payload = facts.payload_bytes;
  const double all = facts.examples * payload;
  const double visits = facts.visits.value_or(facts.examples);
  const double passed = facts.importance_pass ? facts.examples : 0;
  const double reads = visits + facts.refreshed + passed;
  const double read = reads * payload;
  const double misses = reads * (1 - facts.caches.all());
  IoCost cost{.examples_moved = facts.moved,
              .flows = facts.flows,
              .importance_pass = passed,
              .visits = visits,
              .visits_hidden = facts.hidden,
              .visits_refreshed = facts.refreshed,
              .network_bytes = facts.moved * (payload + kWireBytesPerMove),
              .replicated_source_bytes = misses * payload,
              .local_read_bytes = read + facts.moved * payload,
              .local_written_bytes = facts.moved * (payload + 2 * kJournalBytesPerChange),
              .cache_hits = reads * facts.caches.memory,
              .cache_hits_disk = reads * facts.caches.disk,
              .cache_hits_peers = reads * facts.caches.peers,
              .cache_misses = misses,
              .peer_bytes = reads * facts.caches.peers * (payload + kWireBytesPerMove)};
  if (facts.is_first) {
    cost.partitioned_source_bytes = all;
    cost.local_written_bytes += all + facts.examples * kJournalBytesPerChange;
  }
  return cost;
}

StrategyCost predict_io(const placement::PlacementSpec& decisions, const IoSpec& spec,
                        const Progress& progress) {
  check(decisions, spec);
  const Decided decided = decide(decisions, spec, progress);
  const auto& [simulated, visits, caches] = decided.run;
  const auto all = static_cast<double>(spec.examples);

  StrategyCost cost;
  double peak = 0;
  auto moves = simulated.events.begin();
  for (std::uint32_t epoch = 0; epoch < decisions.epochs.value(); ++epoch) {
    EpochFacts facts{.is_first = epoch == 0,
                     .examples = all,
                     .visits = all * visits[epoch].visits,
                     .hidden = all * visits[epoch].hidden,
                     .refreshed = all * visits[epoch].refreshed,
                     .payload_bytes = spec.payload_bytes,
                     .caches = caches[epoch]};
    if (moves != simulated.events.end() && moves->event.epoch == epoch) {
      peak = std::max(peak, moves->peak);
      facts.moved = moves->moved;
      facts.flows = moves->flows;
      facts.importance_pass = moves->importance_pass;
      ++moves;
    }
    const IoCost of_epoch = epoch_cost(facts);
    if (epoch == 0) cost.first = of_epoch;
    add(cost.run, of_epoch);
  }
  cost.later = mean_after(cost.first, cost.run, decisions.epochs.value());
  cost.expected_moved = expected_moves(decisions, spec.examples);
  const double share = largest_share(decisions, simulated.events);
  const double part = decisions.start.is_even
                          ? static_cast<double>(ceil_div(spec.examples, decisions.workers))
                          : simulated.events.front().peak;
  cost.peak_bound = static_cast<std::uint64_t>(std::ceil((1 + share) * part - 1e-9));
  cost.peak_stored = static_cast<std::uint64_t>(std::llround(peak));
  // The rounding of a small data set's parts is not that of the real one.
  const bool is_scaled = decided.examples < spec.examples;
  if (is_scaled) cost.peak_stored = std::min(cost.peak_stored, cost.peak_bound);
  cost.events = simulated.events.size();
  cost.events_simulated = simulated.carried_out;
  cost.examples_simulated = decided.examples;
  return cost;
}

std::uint64_t steps_per_epoch(std::uint64_t examples, std::uint32_t workers, std::uint32_t batch) {
  return ceil_div(ceil_div(examples, workers), std::max(1u, batch));
}

std::uint64_t sums_in_epoch(const config::RunConfig& config, std::uint32_t epoch,
                            std::uint64_t steps) {
  if (!config::trains_apart(config, epoch)) return steps;
  const config::SyncRule& sync = config.workers.sync;
  const bool once = sync.kind == config::SyncRule::Kind::kEpoch;
  return once ? std::min<std::uint64_t>(steps, 1) : ceil_div(steps, sync.steps);
}

double weight_bytes_per_epoch(const WeightSpec& spec) {
  const config::WorkersConfig& workers = spec.config.workers;
  const std::uint64_t steps = steps_per_epoch(spec.examples, workers.count, workers.batch);
  std::uint64_t sums = 0;
  for (std::uint32_t epoch = 0; epoch < spec.config.epochs; ++epoch) {
    sums += sums_in_epoch(spec.config, epoch, steps);
  }
  return static_cast<double>(run::weight_bytes(sums, workers.count, spec.parameters)) /
         spec.config.epochs;
}

}  // namespace impart::cost
