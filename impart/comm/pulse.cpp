#include "impart/comm/pulse.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace impart::comm {
namespace {

/// A message names so many processes, and counts the others.
constexpr std::size_t kMostNamed = 4;

long seconds_of(PulseBoard::Clock::duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

template <class Describe>
std::string list_some(std::span<const std::uint32_t> ranks, std::string_view separator,
                      Describe&& describe) {
  std::string text;
  for (const std::uint32_t rank : ranks.first(std::min(ranks.size(), kMostNamed))) {
    text += fmt::format("{}{}", text.empty() ? "" : separator, describe(rank));
  }
  if (ranks.size() > kMostNamed) {
    text += fmt::format("{}and {} more", separator, ranks.size() - kMostNamed);
  }
  return text;
}

}  // namespace

void Pulse::set(const Activity& activity) {
  epoch = activity.epoch;
  step = activity.step;
  const std::size_t length = std::min(activity.phase.size(), std::size(phase) - 1);
  std::copy_n(activity.phase.begin(), length, phase);
  phase[length] = 0;
}

std::string Pulse::text() const {
  return fmt::format("{}, epoch {}, step {}", phase, epoch + 1, step);
}

PulseBoard::PulseBoard(const Spec& spec, Time now) : spec_(spec), passed_(now) {
  peers_.resize(spec.size, {.pulse = {}, .heard = now});
}

void PulseBoard::note(std::uint32_t rank, const Pulse& pulse, Time now) {
  peers_[rank] = {.pulse = pulse, .heard = now};
}

void PulseBoard::pass_time(Time now) {
  const Clock::duration gap = now - passed_;
  passed_ = now;
  if (gap < 2 * spec_.period) return;
  for (Peer& peer : peers_) peer.heard = std::min(now, peer.heard + gap);
}

std::vector<std::uint32_t> PulseBoard::lost(Time now) const {
  std::vector<std::uint32_t> ranks;
  bool any = false;
  for (std::uint32_t rank = 0; rank < spec_.size; ++rank) {
    if (rank == spec_.rank || silence(rank, now) < spec_.timeout - 2 * spec_.period) continue;
    ranks.push_back(rank);
    any = any || silence(rank, now) >= spec_.timeout;
  }
  const bool never = spec_.timeout == Clock::duration::zero();
  return never || !any ? std::vector<std::uint32_t>{} : ranks;
}

std::vector<std::uint32_t> PulseBoard::behind(const Pulse& mine) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < spec_.size; ++rank) {
    const bool is_behind = peers_[rank].pulse.collectives < mine.collectives;
    if (rank != spec_.rank && is_behind) ranks.push_back(rank);
  }
  return ranks;
}

std::string PulseBoard::describe_loss(std::span<const std::uint32_t> lost, const Pulse& mine,
                                      Clock::duration waited, Time now) const {
  const std::string losses = list_some(lost, "; ", [&](std::uint32_t rank) {
    return fmt::format(
        "process {} of {} was lost: nothing was heard of it for {} s (comm.timeout), last in {}",
        rank, spec_.size, seconds_of(silence(rank, now)), peers_[rank].pulse.text());
  });
  return fmt::format("{}; process {} waits in {}, for {} s now", losses, spec_.rank, mine.text(),
                     seconds_of(waited));
}

std::string PulseBoard::describe_wait(std::span<const std::uint32_t> awaited, const Pulse& mine,
                                      Clock::duration waited, Time now) const {
  const std::string others = list_some(awaited, ", ", [&](std::uint32_t rank) {
    return fmt::format("process {} (in {}, heard of {} s ago)", rank, peers_[rank].pulse.text(),
                       seconds_of(silence(rank, now)));
  });
  return fmt::format("process {} of {}, in {}, has waited for {} s for {}", spec_.rank, spec_.size,
                     mine.text(), seconds_of(waited),
                     others.empty() ? "data: all processes are there" : others);
}

}  // namespace impart::comm
