#include "impart/store/lane_thread.h"

#include <algorithm>
#include <cstdint>

#include "impart/comm/job.h"

namespace impart::store {
namespace {

/// Pauses while nothing moves grow from the one to the other: what a network brings meanwhile must
/// fit into its buffers.
constexpr std::chrono::microseconds kShortestPause(50), kLongestPause(200);

}  // namespace

LaneThread::LaneThread(LaneRun& run, HeldParts& parts, comm::Communicator& communicator)
    : run_(run),
      parts_(parts),
      communicator_(communicator),
      thread_([this](const std::stop_token& stop) { carry_out(stop); }) {}

void LaneThread::carry_out(const std::stop_token& stop) {
  std::exception_ptr failure;
  try {
    comm::run_job(communicator_, [&] { advance(stop); });
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    done_at_ = Clock::now();
    failure_ = failure;
  }
  ended_.notify_all();
}

void LaneThread::advance(const std::stop_token& stop) {
  std::chrono::microseconds pause = kShortestPause;
  while (!stop.stop_requested()) {
    const std::uint64_t before = parts_.events();
    if (run_.advance()) return;
    if (parts_.events() != before) {
      pause = kShortestPause;
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

bool LaneThread::is_done() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return has_ended_;
}

void LaneThread::wait() {
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
  }
  is_done();
}

}  // namespace impart::store
