// A job that goes wrong, for failure_test.py:
//
//   mpirun -n P failing_job WHAT RANK MILLISECONDS FOLDER
//
// All processes sum gradients without end. After the given time process RANK does WHAT; RANK "all"
// means every one, after the same number of sums. What becomes of a process is written to
// FOLDER/pid.R when it starts and to FOLDER/code.R, with its exit code, when it ends by itself.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"

namespace impart {
namespace {

using Clock = std::chrono::steady_clock;

struct Plan {
  std::string what, rank, folder;
  std::chrono::milliseconds after;
};

void note(const Plan& plan, const char* name, std::uint32_t rank, int number) {
  std::ofstream(fmt::format("{}/{}.{}", plan.folder, name, rank)) << number << std::flush;
}

void go_wrong(const std::string& what, Communicator& communicator, std::vector<float>& gradient) {
  if (what == "throw") throw DataError("part-3.bin: offset 17: a broken record");
  if (what == "kill") ::kill(::getpid(), SIGKILL);
  if (what == "exit") ::_exit(3);
  if (what == "throw-pending") {
    const auto pending = communicator.start_all_reduce_sum(gradient);
    throw DataError("part-3.bin: offset 17: a broken record");
  }
}

/// "sleep" is a process that is busy with something else when another one goes wrong.
void work(const Plan& plan, Communicator& communicator) {
  const auto start = Clock::now();
  const bool chosen = plan.rank == std::to_string(communicator.rank());
  std::vector<float> gradient(100'000, 1.0f);
  for (int step = 0;; ++step) {
    if (plan.rank == "all" && step == 20) go_wrong(plan.what, communicator, gradient);
    if (chosen && Clock::now() - start >= plan.after) go_wrong(plan.what, communicator, gradient);
    const auto pending = communicator.start_all_reduce_sum(gradient);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pending->wait();
    communicator.barrier();
  }
}

/// As the command `impart` does it.
int exit_code_of(const Plan& plan, std::uint32_t& rank) {
  try {
    const auto communicator = make_communicator();
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
}  // namespace impart

int main(int, char** argv) {
  // A training run takes SIGTERM as a request for a checkpoint, so it is not its end.
  std::signal(SIGTERM, [](int) {});
  const impart::Plan plan{.what = argv[1],
                          .rank = argv[2],
                          .folder = argv[4],
                          .after = std::chrono::milliseconds(std::stoi(argv[3]))};
  std::uint32_t rank = 0;
  const int code = impart::exit_code_of(plan, rank);
  impart::note(plan, "code", rank, code);
  return code;
}
