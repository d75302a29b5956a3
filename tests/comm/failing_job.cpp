// A job that goes wrong, for failure_test.py and liveness_test.py:
//
//   mpirun -n P failing_job FOLDER WHAT RANK MILLISECONDS [TIMEOUT_MILLISECONDS]
//
// All processes sum gradients without end. After the given time process RANK does WHAT: throw,
// throw-pending (while a sum and a receive
// are under way) or exit; RANK "all" means every process, after the same
// number of sums. With WHAT "throw-busy" it throws while the others are busy for a minute. With
// WHAT "nothing" the test has to kill somebody. With WHAT "busy" process RANK computes alone for
// the given time after some sums; then all end. With WHAT "beside-throw" and "beside-nothing" a
// second thread of every process sends messages round meanwhile; in the first it is that of process
// RANK that throws. A wait of a second is told. Process R writes
// FOLDER/pid.R when it starts, FOLDER/failing.R when it goes wrong, and FOLDER/code.R, with its
// exit code, when it ends by itself.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"

namespace impart::comm {
namespace {

using Clock = std::chrono::steady_clock;

struct Plan {
  std::string folder, what, rank;
  std::chrono::milliseconds after;
  std::chrono::milliseconds timeout;
};

void note(const Plan& plan, const char* name, std::uint32_t rank, int number) {
  std::ofstream(fmt::format("{}/{}.{}", plan.folder, name, rank)) << number << std::flush;
}

[[noreturn]] void go_wrong(const Plan& plan, Communicator& communicator) {
  note(plan, "failing", communicator.rank(), 0);
  if (plan.what == "exit") ::_exit(3);
  std::vector<float> gradient(100'000, 1.0f);
  std::unique_ptr<PendingOperation> pending;
  if (plan.what == "throw-pending") pending = communicator.start_all_reduce_sum(gradient);
  const std::uint32_t next = (communicator.rank() + 1) % communicator.size();
  std::unique_ptr<PendingOperation> unanswered;
  if (plan.what == "throw-pending") {
    unanswered = communicator.start_receive(std::as_writable_bytes(std::span(gradient)), next, 0);
  }
  throw DataError("part-3.bin: offset 17: a broken record");
}

/// Sends messages round a ring, as the thread of a store does, until something is thrown.
void send_round(const Plan& plan, Communicator& communicator, const std::stop_token& stop) {
  const auto start = Clock::now();
  const bool throws =
      plan.what == "beside-throw" && plan.rank == std::to_string(communicator.rank());
  const std::uint32_t size = communicator.size(), rank = communicator.rank();
  std::vector<float> mine(30'000), theirs(30'000);
  while (!stop.stop_requested()) {
    const auto receive = communicator.start_receive(std::as_writable_bytes(std::span(theirs)),
                                                    (rank + size - 1) % size, 1);
    const auto send = communicator.start_send(std::as_bytes(std::span(mine)), (rank + 1) % size, 1);
    while (!receive->test() || !send->test()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (throws && Clock::now() - start >= plan.after) {
      note(plan, "failing", rank, 0);
      throw DataError("part-3.bin: offset 17: a broken record");
    }
  }
}

/// The thread beside the one that adds up.
std::jthread start_beside(const Plan& plan, Communicator& communicator) {
  if (!plan.what.starts_with("beside")) return {};
  return std::jthread([&](const std::stop_token& stop) {
    try {
      run_job(communicator, [&] { send_round(plan, communicator, stop); });
    } catch (const Error&) {  // the other thread ends with it, too
    }
  });
}

void work(const Plan& plan, Communicator& communicator) {
  const std::jthread beside = start_beside(plan, communicator);
  const auto start = Clock::now();
  const bool chosen = plan.what != "nothing" && !plan.what.starts_with("beside") &&
                      plan.rank == std::to_string(communicator.rank());
  const bool busy = plan.what == "throw-busy";
  std::vector<float> gradient(100'000, 1.0f);
  for (int step = 0;; ++step) {
    communicator.set_activity({.phase = "sum", .step = static_cast<std::uint32_t>(step)});
    if (plan.what == "busy" && step == 20) {
      if (chosen) std::this_thread::sleep_for(plan.after);
      return communicator.barrier();
    }
    const bool in_step = step == 20 && (plan.rank == "all" || busy);
    if (in_step && busy && !chosen) std::this_thread::sleep_for(std::chrono::minutes(1));
    if (in_step || (chosen && !busy && plan.what != "busy" && Clock::now() - start >= plan.after)) {
      go_wrong(plan, communicator);
    }
    const auto pending = communicator.start_all_reduce_sum(gradient);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pending->wait();
    communicator.barrier();
  }
}

/// As the command `impart` does it.
int exit_code_of(const Plan& plan, std::uint32_t& rank) {
  try {
    const auto communicator = make_communicator(
        {.timeout = plan.timeout,
         .long_wait = std::chrono::seconds(1),
         .on_long_wait = [](const std::string& message) { fmt::print(stderr, "{}\n", message); }});
    rank = communicator->rank();
    note(plan, "pid", rank, ::getpid());
    run_job(*communicator, [&] { work(plan, *communicator); });
    return 0;
  } catch (const PeerError& error) {
    fmt::print(stderr, "failing_job: {}\n", error.what());
    return 75;
  } catch (const DataError& error) {
    fmt::print(stderr, "failing_job: {}\n", error.what());
    return 65;
  }
}

}  // namespace
}  // namespace impart::comm

int main(int argc, char** argv) {
  // A training run takes SIGTERM as a request for a checkpoint, so it is not its end.
  std::signal(SIGTERM, [](int) {});
  const impart::comm::Plan plan{
      .folder = argv[1],
      .what = argv[2],
      .rank = argv[3],
      .after = std::chrono::milliseconds(std::stoi(argv[4])),
      .timeout = std::chrono::milliseconds(argc > 5 ? std::stoi(argv[5]) : 300'000)};
  std::uint32_t rank = 0;
  const int code = impart::comm::exit_code_of(plan, rank);
  impart::comm::note(plan, "code", rank, code);
  return code;
}
