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

Lookout::Lookout(MPI_Comm jobs_communicator, const CommunicatorSpec& spec, std::mutex& mpi)
    : mpi_(mpi),
      spec_(spec),
      watch_(jobs_communicator),
      heartbeat_(jobs_communicator, spec.timeout, mpi) {
  int rank = 0;
  MPI_Comm_rank(jobs_communicator, &rank);
  rank_ = static_cast<std::uint32_t>(rank);
}

void Lookout::fall_silent() {
  const std::lock_guard lock(mpi_);
  heartbeat_.fall_silent();
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
  const std::lock_guard lock(mpi_);
  heartbeat_.fall_silent();
  watch_.announce(reason);
}

std::optional<std::string> Lookout::look(std::optional<std::uint32_t> awaited) {
  const auto now = Clock::now();
  if (!waiting_since_ || now - looked_at_ > kBusy) {
    waiting_since_ = now;
    told_ = false;
  }
  if (now - looked_at_ < kLookEvery) return std::nullopt;
  looked_at_ = now;
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
                   board.describe_loss(lost, heartbeat_.mine(), now - *waiting_since_, now));
}

/// Empty if it is not long, or was told before, or another process tells it.
std::string Lookout::describe_long_wait(std::optional<std::uint32_t> awaited,
                                        Clock::time_point now) {
  const auto waited = now - *waiting_since_;
  if (told_ || !spec_.on_long_wait || waited < spec_.long_wait) return "";
  told_ = true;
  const PulseBoard& board = heartbeat_.board();
  const auto ranks = awaited ? std::vector{*awaited} : board.behind(heartbeat_.mine());
  std::uint32_t speaker = 0;
  while (std::find(ranks.begin(), ranks.end(), speaker) != ranks.end()) ++speaker;
  if (!awaited && speaker != rank_) return "";
  return board.describe_wait(ranks, heartbeat_.mine(), waited, now);
}

}  // namespace impart::comm
