#include "impart/store/cache/cache_plan.h"

#include <algorithm>
#include <limits>
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
  last_steps_.resize(spec_.examples);
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

bool CachePlan::has_room(const Contents& contents, CacheTier tier, std::uint64_t bytes) const {
  return tier == CacheTier::kDisk ? contents.disk + bytes <= spec_.disk_bytes
                                  : contents.memory + bytes <= spec_.memory_bytes;
}

std::optional<CacheTier> CachePlan::room_for(const Contents& contents, std::uint64_t bytes) const {
  for (const CacheTier tier : {CacheTier::kMemory, CacheTier::kDisk}) {
    if (has_room(contents, tier, bytes)) return tier;
  }
  return std::nullopt;
}

bool CachePlan::add_held(std::uint32_t process, ExampleId id, CacheTier tier) {
  Contents& contents = contents_[process];
  const std::uint64_t bytes = spec_.sizes(id);
  const bool is_taken = spec_.cooperative && holder_[index(id)] != 0;
  if (is_taken || !has_room(contents, tier, bytes)) return false;
  contents.of(tier) += bytes;
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
                   last_steps_[index(id)] = step;
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

/// What a process has and does not have to let go, and then what it reads and nobody else keeps.
std::vector<CachePlan::Candidate> CachePlan::find_candidates(std::uint32_t process,
                                                             const std::vector<FirstVisit>& visits,
                                                             const EpochReads& reads,
                                                             ProcessCaching& caching) const {
  std::vector<Candidate> candidates;
  for (const ExampleId id : contents_[process].ids) {
    if (reads.keeps_parts && process_of(reads.partition->owner(id)) != process) {
      const bool is_needed = fates_[index(id)] == Fate::kPeer;
      (is_needed ? caching.drop_late : caching.drop).push_back(id);
      continue;
    }
    const float worth = spec_.worth(id, reads.expected_visits);
    candidates.push_back({.id = id, .held = tier(process, id), .worth = worth});
  }
  for (const FirstVisit& visit : visits) {
    const Fate fate = fates_[index(visit.id)];
    const bool is_kept_elsewhere = fate == Fate::kPeer && !reads.keeps_parts;
    if (fate == Fate::kMemory || fate == Fate::kDisk || is_kept_elsewhere) continue;
    const float worth = spec_.worth(visit.id, reads.expected_visits);
    if (worth > 0) candidates.push_back({.id = visit.id, .step = visit.step, .worth = worth});
  }
  return candidates;
}

/// Whether what this process keeps answers a visit of the epoch.
bool CachePlan::is_used_here(std::uint32_t process, ExampleId id, const EpochReads& reads) const {
  if (visits_[index(id)] == 0) return false;
  return spec_.cooperative || process_of(reads.partition->owner(id)) == process;
}

/// What a process keeps from now on.
void CachePlan::choose(std::uint32_t process, const std::vector<FirstVisit>& visits,
                       const EpochReads& reads, ProcessCaching& caching) {
  std::vector<Candidate> candidates = find_candidates(process, visits, reads, caching);
  if (spec_.worth != worth_the_same) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  }
  // Were all of them here: who stays, who is in the way, and from which worth on others are taken.
  Contents next, wished;
  std::vector<Leaver> leavers;
  float least = std::numeric_limits<float>::infinity();
  for (const Candidate& candidate : candidates) {
    const std::uint64_t bytes = spec_.sizes(candidate.id);
    const bool is_held = candidate.held != CacheTier::kNone;
    std::optional<CacheTier> place = is_held ? candidate.held : room_for(wished, bytes);
    if (candidate.worth <= 0 || !place || !has_room(wished, *place, bytes)) place.reset();
    if (place) wished.of(*place) += bytes;
    if (place && !is_held) least = candidate.worth;
    if (!is_held) continue;
    next.of(candidate.held) += bytes;
    if (place) {
      next.ids.push_back(candidate.id);
      continue;
    }
    const bool is_used = is_used_here(process, candidate.id, reads);
    leavers.push_back({.id = candidate.id,
                       .held = candidate.held,
                       .bytes = bytes,
                       .is_used = is_used,
                       .free_from = is_used ? last_steps_[index(candidate.id)] + 1 : 0});
  }
  take_in(candidates, least, leavers, next, caching);
  contents_[process] = std::move(next);
}

/// Takes in the candidates of at least that worth, those above it first, in the order of their
/// visits: while there is room, and in place of leavers that are not needed any more.
void CachePlan::take_in(const std::vector<Candidate>& candidates, float least,
                        std::vector<Leaver>& leavers, Contents& next,
                        ProcessCaching& caching) const {
  std::stable_sort(leavers.begin(), leavers.end(),
                   [](const Leaver& a, const Leaver& b) { return a.free_from < b.free_from; });
  auto leaver = leavers.begin();
  std::uint32_t free_from = 0;  // since when there is the room that is left
  const auto take = [&](const Candidate& candidate) {
    const std::uint64_t bytes = spec_.sizes(candidate.id);
    const auto is_early = [&](std::uint32_t step) {
      return step > 0 && candidate.step < step + spec_.steps_ahead;
    };
    if (is_early(free_from)) return;
    std::optional<CacheTier> place = room_for(next, bytes);
    for (; !place && leaver != leavers.end() && !is_early(leaver->free_from); ++leaver) {
      next.of(leaver->held) -= leaver->bytes;
      if (leaver->is_used) {
        caching.drop_at.push_back({leaver->id, leaver->free_from});
        free_from = leaver->free_from;
      } else {
        caching.drop.push_back(leaver->id);
      }
      place = room_for(next, bytes);
    }
    if (!place) return;
    next.of(*place) += bytes;
    next.ids.push_back(candidate.id);
    caching.keep.push_back(candidate.id);
    caching.keep_in.push_back(*place);
  };
  const auto is_new = [](const Candidate& one) { return one.held == CacheTier::kNone; };
  std::vector<Candidate> better, even;
  for (const Candidate& candidate : candidates) {
    if (is_new(candidate) && candidate.worth > least) better.push_back(candidate);
    if (is_new(candidate) && candidate.worth == least) even.push_back(candidate);
  }
  std::stable_sort(better.begin(), better.end(),
                   [](const Candidate& a, const Candidate& b) { return a.step < b.step; });
  std::ranges::for_each(better, take);
  std::ranges::for_each(even, take);
  for (; leaver != leavers.end(); ++leaver) next.ids.push_back(leaver->id);
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
    for (const CacheDrop& gone : mine.drop_at) set_tier(process, gone.id, CacheTier::kNone);
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
