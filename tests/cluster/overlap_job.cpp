// How long training waits for exchanges of the partitioned store over MPI, one worker per process,
// that go on while it computes:
//
//   mpirun … overlap_job KEY=VALUE ...
//
//   strategy=NAME examples=N payload=BYTES   as for exchange_job
//   exchanges=N          how many are measured, after one that is not
//   path=FOLDER          where the parts live; "" for memory
//   moves=before         each is waited for before the first step
//         between        they go on between steps, in calls of the training thread
//         behind         they go on on a thread of the store
//         none           nothing moves: how long the steps take by themselves
//   steps=N step=MILLISECONDS   that are run before the first example that has moved is needed
//   busy=0|1             a step computes; else it sleeps, as the host of a GPU does
//   floats=N             each step ends with an all-reduce of so many
//
// Prints a line of JSON for each exchange: {"bytes": … that all send, "moving": … seconds from its
// start to its end, "waited": … of them the training thread waited, "epoch": … seconds of exchange
// and steps together}; of the process that had most of each.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/cost/simulated_placement.h"
#include "impart/store/partitioned_store.h"
#include "tests/cluster/cluster_exchanges.h"

namespace {

using namespace impart;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      const std::size_t equals = argument.find('=');
      options_[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  std::string text(const std::string& key) const {
    const auto at = options_.find(key);
    return at == options_.end() ? "" : at->second;
  }
  std::uint64_t number(const std::string& key, std::uint64_t otherwise) const {
    const std::string found = text(key);
    return found.empty() ? otherwise : std::stoull(found);
  }

 private:
  std::map<std::string, std::string> options_;
};

/// Stands for what a training step computes.
void compute(std::chrono::milliseconds step, bool busy) {
  if (!busy) return std::this_thread::sleep_for(step);
  const auto end = Clock::now() + step;
  for (volatile double value = 1; Clock::now() < end;) {
    for (int i = 0; i < 1'000; ++i) value = value * 1.000001;
  }
}

/// An epoch's exchange, and its steps over what stays.
class Epochs {
 public:
  Epochs(const Options& options, comm::Communicator& communicator, store::Store& store)
      : moves_(options.text("moves")),
        steps_(options.number("steps", 10)),
        step_(options.number("step", 50)),
        busy_(options.number("busy", 0) == 1),
        gradient_(options.number("floats", 1'000)),
        communicator_(communicator),
        store_(store) {}

  /// Seconds of moving, of waiting for it, and of all; the most of all processes.
  std::vector<double> run(const placement::MovePlan& plan) {
    communicator_.barrier();
    const auto start = Clock::now();
    waited_ = 0;
    const bool moves = moves_ != "none";
    if (moves) wait([&] { store_.start_moves(plan); });
    if (moves_ == "before") wait([&] { store_.finish_moves(); });
    for (std::uint64_t step = 0; step < steps_; ++step) {
      compute(step_, busy_);
      communicator_.all_reduce_sum(gradient_);
      if (moves) wait([&] { store_.advance_moves(); });
    }
    if (moves) wait([&] { store_.finish_moves(); });
    std::vector<double> seconds = {store_.take_seconds_moving(), waited_, seconds_since(start)};
    communicator_.all_reduce_max(seconds);
    if (!moves) {
      store_.start_moves(plan);
      store_.finish_moves();
      store_.take_seconds_moving();
    }
    return seconds;
  }

 private:
  template <class Work>
  void wait(Work&& work) {
    const auto start = Clock::now();
    std::forward<Work>(work)();
    waited_ += seconds_since(start);
  }

  std::string moves_;
  std::uint64_t steps_;
  std::chrono::milliseconds step_;
  bool busy_;
  std::vector<float> gradient_;
  comm::Communicator& communicator_;
  store::Store& store_;
  double waited_ = 0;
};

void run(const Options& options, comm::Communicator& communicator) {
  const std::uint32_t workers = communicator.size();
  const std::uint64_t examples = options.number("examples", 1'000);
  const std::uint64_t payload = options.number("payload", 100'000);
  const auto store = store::make_partitioned_store(
      {.workers = workers,
       .path = options.text("path"),
       .data_id = "numbered",
       .moves_behind = options.text("moves") == "behind"},
      communicator, std::make_shared<testing::NumberedSource>(examples, payload));
  cost::SimulatedPlacement placement(testing::decisions_of(options.text("strategy"), workers),
                                     {.examples = examples});
  Epochs epochs(options, communicator, *store);
  std::uint64_t exchanges = 0;
  for (const placement::ScheduleEvent& event : placement.schedule()) {
    if (exchanges > options.number("exchanges", 1)) break;
    const auto change = placement.prepare_epoch(event.epoch);
    if (event.epoch == 0) store->settle(placement.placement().partition());
    if (!change || change->plan.moves.empty()) continue;
    const std::vector<double> seconds = epochs.run(change->plan);
    // The first opens connections, and comes from a random partition.
    if (exchanges++ == 0 || communicator.rank() != 0) continue;
    fmt::print("{{\"bytes\": {}, \"moving\": {:.6f}, \"waited\": {:.6f}, \"epoch\": {:.6f}}}\n",
               change->plan.moves.size() * payload, seconds[0], seconds[1], seconds[2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options(argc, argv);
    const auto communicator =
        comm::make_communicator({.short_queues = options.text("moves") == "behind"});
    comm::run_job(*communicator, [&] { run(options, *communicator); });
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "overlap_job: {}\n", error.what());
    return 1;
  }
}
