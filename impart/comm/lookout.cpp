#include "impart/comm/lookout.h"

#include <algorithm>
#include <vector>

namespace impart::comm {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::milliseconds(200);
/// Who has not looked for so long was not waiting.
constexpr auto kBusy = std::chrono::seconds(1);

}  // namespace

thread_local Lookout::Wait Lookout::wait_;

Lookout::Lookout(MPI_Comm jobs_communicator, const CommunicatorSpec& spec, std::mutex& mpi)
    : mpi_(mpi),
      spec_(spec),
      watch_(jobs_communicator),
      heartbeat_(jobs_communicator, spec.timeout, mpi) {
  int rank = 0;
  MPI_Comm_rank(jobs_communicator, &rank);
  rank_ = static_cast<std::uint32_t>(rank);
}

void Lookout::set_activity(const Activity& activity) {
  const std::lock_guard lock(mpi_);
  heartbeat_.mine().set(activity);
}

void Lookout::count_collective() {
  const std::lock_guard lock(mpi_);
  ++heartbeat_.mine().collectives;
}

void Lookout::announce(std::string_view reason) {
  heartbeat_.fall_silent();
  watch_.announce(reason);
}

std::optional<std::string> Lookout::look(std::optional<std::uint32_t> awaited) {
  const auto now = Clock::now();
  if (!wait_.since || now - wait_.looked_at > kBusy) {
    wait_.since = now;
    wait_.told = false;
  }
  if (now - wait_.looked_at < kLookEvery) return std::nullopt;
  wait_.looked_at = now;
  std::unique_lock lock(mpi_);
  heartbeat_.beat(now);
  note_silent(now);
  if (watch_.look() && !failed_at_) failed_at_ = now;
  if (failed_at_ && now - *failed_at_ >= kGrace) {
    watch_.acknowledge();
    heartbeat_.fall_silent();
    return watch_.look();
  }
  const std::string message = describe_long_wait(awaited, now);
  lock.unlock();  // who reads the message may be slow
  if (!message.empty()) spec_.on_long_wait(message);
  return std::nullopt;
}

void Lookout::note_silent(Clock::time_point now) {
  const PulseBoard& board = heartbeat_.board();
  const auto lost = board.lost(now);
  if (lost.empty()) return;
  watch_.note_loss(lost.front(),
                   board.describe_loss(lost, heartbeat_.mine(), now - *wait_.since, now));
}

/// Empty if it is not long, or was told before, or another process tells it.
std::string Lookout::describe_long_wait(std::optional<std::uint32_t> awaited,
                                        Clock::time_point now) {
  const auto waited = now - *wait_.since;
  if (wait_.told || !spec_.on_long_wait || waited < spec_.long_wait) return "";
  wait_.told = true;
  const PulseBoard& board = heartbeat_.board();
  const auto ranks = awaited ? std::vector{*awaited} : board.behind(heartbeat_.mine());
  std::uint32_t speaker = 0;
  while (std::find(ranks.begin(), ranks.end(), speaker) != ranks.end()) ++speaker;
  if (!awaited && speaker != rank_) return "";
  return board.describe_wait(ranks, heartbeat_.mine(), waited, now);
}

}  // namespace impart::comm
