#include "impart/comm/heartbeat.h"

#include <algorithm>

namespace impart::comm {
namespace {

constexpr int kTag = 2;
/// A process speaks so many times within the timeout, but at least every five seconds.
constexpr int kPulsesPerTimeout = 10;
constexpr std::chrono::steady_clock::duration kLongestPeriod = std::chrono::seconds(5);

Heartbeat::Clock::duration period_for(Heartbeat::Clock::duration timeout) {
  const bool never = timeout == Heartbeat::Clock::duration::zero();
  return never ? kLongestPeriod : std::min(kLongestPeriod, timeout / kPulsesPerTimeout);
}

PulseBoard::Spec board_spec(MPI_Comm communicator, Heartbeat::Clock::duration timeout) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  return {.rank = static_cast<std::uint32_t>(rank),
          .size = static_cast<std::uint32_t>(size),
          .timeout = timeout,
          .period = period_for(timeout)};
}

}  // namespace

Heartbeat::Heartbeat(MPI_Comm jobs_communicator, Clock::duration timeout, std::mutex& mpi)
    : mpi_(mpi),
      period_(period_for(timeout)),
      board_(board_spec(jobs_communicator, timeout), Clock::now()) {
  MPI_Comm_dup(jobs_communicator, &communicator_);
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_set_name(communicator_, "impart pulses");
  int size = 1;
  MPI_Comm_size(communicator_, &size);
  outgoing_.resize(static_cast<std::size_t>(size));
}

Heartbeat::~Heartbeat() {
  stop();
}

void Heartbeat::start() {
  thread_ = std::thread([this] { beat_until_stopped(); });
}

void Heartbeat::stop() {
  {
    const std::lock_guard lock(mpi_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::beat_until_stopped() {
  std::unique_lock lock(mpi_);
  while (!stopping_ && !silent_) {
    beat(Clock::now());
    wake_.wait_for(lock, period_ / 2, [this] { return stopping_; });
  }
}

void Heartbeat::beat(Clock::time_point now) {
  if (silent_) return;
  board_.pass_time(now);
  receive(now);
  if (now - spoke_ < period_) return;
  spoke_ = now;
  send();
}

void Heartbeat::receive(Clock::time_point now) {
  while (true) {
    int arrived = 0;
    MPI_Status status;
    const int code = MPI_Iprobe(MPI_ANY_SOURCE, kTag, communicator_, &arrived, &status);
    if (code != MPI_SUCCESS || arrived == 0) return;
    Pulse pulse;
    MPI_Recv(&pulse, sizeof(Pulse), MPI_BYTE, status.MPI_SOURCE, kTag, communicator_,
             MPI_STATUS_IGNORE);
    board_.note(static_cast<std::uint32_t>(status.MPI_SOURCE), pulse, now);
  }
}

/// To whom the last pulse is still under way, none is sent: what is cut off must not pile up.
void Heartbeat::send() {
  int rank = 0;
  MPI_Comm_rank(communicator_, &rank);
  for (int other = 0; other < static_cast<int>(outgoing_.size()); ++other) {
    Outgoing& out = outgoing_[static_cast<std::size_t>(other)];
    int done = 0;
    if (other == rank || MPI_Test(&out.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) continue;
    if (done == 0) continue;
    out.pulse = mine_;
    MPI_Isend(&out.pulse, sizeof(Pulse), MPI_BYTE, other, kTag, communicator_, &out.request);
  }
}

}  // namespace impart::comm
