#include "impart/store/cache/cache_plan.h"

#include <algorithm>
#include <utility>

#include "impart/placement/hosted_workers.h"

namespace impart::store {
namespace {

template <class Function>
void for_each_visit(const EpochReads& reads, const placement::HostedWorkers& hosted,
                    Function&& function) {
  for (std::uint32_t step = reads.first_step; step < reads.steps->steps(); ++step) {
    for (std::uint32_t w = hosted.first; w < hosted.first + hosted.count; ++w) {
      for (const ExampleId id : reads.steps->batch_of(WorkerId{w}, step)) function(id, step);
    }
  }
}

}  // namespace

CachePlan::CachePlan(CachePlanSpec spec)
    : spec_(std::move(spec)), contents_(spec_.processes), fates_(spec_.examples) {
  if (spec_.cooperative) holder_.resize(spec_.examples);
  tiers_.resize(spec_.cooperative ? 1 : spec_.processes);
  for (std::uint32_t process = 0; process < tiers_.size(); ++process) {
    if (spec_.cooperative || plans(process)) tiers_[process].resize(spec_.examples);
  }
  visits_.resize(spec_.examples);
}

std::uint32_t CachePlan::process_of(WorkerId worker) const {
  return placement::hosting_process(worker, spec_.workers, spec_.processes);
}

CacheTier CachePlan::tier(std::uint32_t process, ExampleId id) const {
  if (!spec_.cooperative) return tiers_[process][index(id)];
  return holder_[index(id)] == process + 1 ? tiers_[0][index(id)] : CacheTier::kNone;
}

void CachePlan::set_tier(std::uint32_t process, ExampleId id, CacheTier tier) {
  tiers_[spec_.cooperative ? 0 : process][index(id)] = tier;
  if (spec_.cooperative) holder_[index(id)] = tier == CacheTier::kNone ? 0 : process + 1;
}

std::uint64_t CachePlan::bytes(std::uint32_t process, CacheTier tier) const {
  return tier == CacheTier::kDisk ? contents_[process].disk : contents_[process].memory;
}

std::optional<CacheTier> CachePlan::room_for(const Contents& contents, std::uint64_t bytes) const {
  if (contents.memory + bytes <= spec_.memory_bytes) return CacheTier::kMemory;
  if (contents.disk + bytes <= spec_.disk_bytes) return CacheTier::kDisk;
  return std::nullopt;
}

bool CachePlan::add_held(std::uint32_t process, ExampleId id, CacheTier tier) {
  Contents& contents = contents_[process];
  const bool is_disk = tier == CacheTier::kDisk;
  const std::uint64_t bytes = spec_.sizes(id);
  std::uint64_t& used = is_disk ? contents.disk : contents.memory;
  const bool is_taken = spec_.cooperative && holder_[index(id)] != 0;
  if (is_taken || used + bytes > (is_disk ? spec_.disk_bytes : spec_.memory_bytes)) return false;
  used += bytes;
  contents.ids.push_back(id);
  set_tier(process, id, tier);
  return true;
}

std::vector<CachePlan::FirstVisit> CachePlan::first_visits(const EpochReads& reads,
                                                           std::uint32_t process) {
  std::vector<FirstVisit> visits;
  for_each_visit(reads, placement::hosted_workers(spec_.workers, process, spec_.processes),
                 [&](ExampleId id, std::uint32_t step) {
                   if (visits_[index(id)]++ == 0) visits.push_back({id, step});
                 });
  return visits;
}

/// Where the first visits of a process find their examples.
void CachePlan::promise(std::uint32_t process, const std::vector<FirstVisit>& visits,
                        bool asks_peers, EpochCaching& caching) {
  for (const FirstVisit& visit : visits) {
    const std::size_t i = index(visit.id);
    const CacheTier here = tier(process, visit.id);
    const std::uint32_t holder = spec_.cooperative && asks_peers ? holder_[i] : 0;
    const std::uint32_t from = holder != 0 ? holder : leaves_.empty() ? 0 : leaves_[i];
    if (here != CacheTier::kNone) {
      fates_[i] = here == CacheTier::kMemory ? Fate::kMemory : Fate::kDisk;
    } else if (from != 0 && from != process + 1) {
      fates_[i] = Fate::kPeer;
      caching.promises.push_back({visit.id, from - 1, process, visit.step, visits_[i]});
    } else {
      fates_[i] = Fate::kMiss;
    }
  }
}

/// What a process keeps from now on: of what it has and does not have to let go, and of what it
/// reads and nobody else keeps, what is worth most.
void CachePlan::choose(std::uint32_t process, const std::vector<FirstVisit>& visits,
                       const EpochReads& reads, ProcessCaching& caching) {
  struct Candidate {
    ExampleId id{};
    CacheTier held = CacheTier::kNone;
    float worth = 0;
  };
  const auto leaves = [&](ExampleId id) {
    return reads.keeps_parts && process_of(reads.partition->owner(id)) != process;
  };
  std::vector<Candidate> candidates;
  for (const ExampleId id : contents_[process].ids) {
    if (leaves(id)) {
      const bool is_needed = fates_[index(id)] == Fate::kPeer;
      (is_needed ? caching.drop_late : caching.drop).push_back(id);
      continue;
    }
    candidates.push_back({id, tier(process, id), spec_.worth(id, reads.expected_visits)});
  }
  const std::size_t held = candidates.size();
  for (const FirstVisit& visit : visits) {
    const Fate fate = fates_[index(visit.id)];
    const bool is_kept_elsewhere = fate == Fate::kPeer && !reads.keeps_parts;
    if (fate == Fate::kMemory || fate == Fate::kDisk || is_kept_elsewhere) continue;
    const float worth = spec_.worth(visit.id, reads.expected_visits);
    if (worth > 0) candidates.push_back({visit.id, CacheTier::kNone, worth});
  }
  if (spec_.worth != worth_the_same) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  } else if (held == candidates.size() && caching.drop.empty() && caching.drop_late.empty()) {
    return;
  }
  Contents next;
  for (const Candidate& candidate : candidates) {
    const std::uint64_t bytes = spec_.sizes(candidate.id);
    std::optional<CacheTier> place = room_for(next, bytes);
    if (candidate.held == CacheTier::kMemory && place != CacheTier::kMemory) place.reset();
    if (candidate.held == CacheTier::kDisk) {
      const bool fits = next.disk + bytes <= spec_.disk_bytes;
      place = fits ? std::optional(CacheTier::kDisk) : std::nullopt;
    }
    if (!place || candidate.worth <= 0) {
      if (candidate.held != CacheTier::kNone) caching.drop.push_back(candidate.id);
      continue;
    }
    (*place == CacheTier::kDisk ? next.disk : next.memory) += bytes;
    next.ids.push_back(candidate.id);
    if (candidate.held != CacheTier::kNone) continue;
    caching.keep.push_back(candidate.id);
    caching.keep_in.push_back(*place);
  }
  contents_[process] = std::move(next);
}

/// Later visits find what the first one left.
void CachePlan::count(const EpochReads& reads, std::uint32_t process, CacheCounts& counts) {
  for_each_visit(reads, placement::hosted_workers(spec_.workers, process, spec_.processes),
                 [&](ExampleId id, std::uint32_t) {
                   Fate& fate = fates_[index(id)];
                   const std::uint64_t bytes = spec_.sizes(id);
                   switch (fate) {
                     case Fate::kMemory:
                       ++counts.memory_hits;
                       return;
                     case Fate::kDisk:
                       ++counts.disk_hits;
                       return;
                     case Fate::kPeer:
                       ++counts.peer_hits;
                       if (visits_[index(id)] == 0) return;
                       visits_[index(id)] = 0;
                       counts.bytes_peers += bytes + kFrameBytes;
                       return;
                     case Fate::kNone:
                     case Fate::kMiss:
                       ++counts.misses;
                       counts.bytes_missed += bytes;
                       const CacheTier kept = tier(process, id);
                       if (kept == CacheTier::kMemory) fate = Fate::kMemory;
                       if (kept == CacheTier::kDisk) fate = Fate::kDisk;
                   }
                 });
}

EpochCaching CachePlan::begin_epoch(const EpochReads& reads, bool moves_from_peers) {
  EpochCaching caching{.processes = std::vector<ProcessCaching>(spec_.processes)};
  std::fill(visits_.begin(), visits_.end(), 0);
  std::fill(fates_.begin(), fates_.end(), Fate::kNone);
  leaves_.assign(moves_from_peers && reads.keeps_parts ? spec_.examples : 0, 0);
  std::vector<std::vector<FirstVisit>> visits(spec_.processes);
  for (std::uint32_t process = 0; process < spec_.processes; ++process) {
    if (!plans(process)) continue;
    visits[process] = first_visits(reads, process);
    if (leaves_.empty()) continue;
    for (const ExampleId id : contents_[process].ids) {
      if (process_of(reads.partition->owner(id)) != process) leaves_[index(id)] = process + 1;
    }
  }
  for (std::uint32_t process = 0; process < spec_.processes; ++process) {
    // Where parts stay, whatever another process has is about to change its owner.
    const bool asks_peers = moves_from_peers || !reads.keeps_parts;
    if (plans(process)) promise(process, visits[process], asks_peers, caching);
  }
  for (std::uint32_t process = 0; process < spec_.processes; ++process) {
    if (plans(process)) choose(process, visits[process], reads, caching.processes[process]);
  }
  // First what is let go, then what is kept: an example may change hands.
  for (std::uint32_t process = 0; process < spec_.processes; ++process) {
    const ProcessCaching& mine = caching.processes[process];
    for (const auto* gone : {&mine.drop, &mine.drop_late}) {
      for (const ExampleId id : *gone) set_tier(process, id, CacheTier::kNone);
    }
  }
  for (std::uint32_t process = 0; process < spec_.processes; ++process) {
    ProcessCaching& mine = caching.processes[process];
    for (std::size_t i = 0; i < mine.keep.size(); ++i) {
      set_tier(process, mine.keep[i], mine.keep_in[i]);
    }
    if (plans(process)) count(reads, process, mine.counts);
  }
  return caching;
}

}  // namespace impart::store
