// Whether watching the other processes (comm.timeout) costs time: steps of training with it and
// without.
//
//   mpirun -n 2 build/release/bin/liveness_bench [MODEL [BATCH [SECONDS [STEPS]]]]
//
// BATCH is that of each process. A round trains STEPS steps in each of three ways, the order
// changing from round to round: comm.timeout 0, which gives nobody up; 300 s, the default; and 2 s,
// with pulses 25 times as often, which is more than anybody needs. Ratios are of neighbours in one
// round: of the fastest step on the clock, which others on the machine disturb least, and of the
// CPU time of all processes, which has the thread that watches. Each is the median over the rounds
// with its 95 % interval by order statistics. The CPU time of that thread alone is read off, too.
// Before anything is timed, all three ways must come to the same weights. Ends with 1 if the
// default is shown to cost more than 1 %.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "bench/training_task.h"
#include "impart/comm/communicator.h"

namespace impart::bench {
namespace {

constexpr std::array<std::chrono::seconds, 3> kTimeouts = {
    std::chrono::seconds(0), std::chrono::seconds(300), std::chrono::seconds(2)};
constexpr int kWarmingUp = 3;      ///< steps of every block
constexpr double kAllowed = 1.01;  ///< of the default

struct WatchedSetting : Setting {
  double seconds = 120;  ///< so long rounds follow each other
  int steps = 20;
};

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// What some steps took.
struct Block {
  double fastest = 0;   ///< step, in seconds
  double cpu = 0;       ///< seconds of a step, all threads of all processes
  double watching = 0;  ///< of these, of the threads that a communicator has started
  std::vector<torch::Tensor> weights = {};
};

using Threads = std::set<std::string>;

Threads threads_of_this_process() {
  Threads threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(entry.path().string());
  }
  return threads;
}

/// CPU time of the threads that are not among `before`.
double cpu_seconds_since(const Threads& before, const Threads& now) {
  double seconds = 0;
  for (const std::string& thread : now) {
    double nanoseconds = 0;
    if (!before.contains(thread)) std::ifstream(thread + "/schedstat") >> nanoseconds;
    seconds += 1e-9 * nanoseconds;
  }
  return seconds;
}

std::uint64_t examples_of(const WatchedSetting& setting, std::uint32_t processes) {
  return std::uint64_t{static_cast<std::uint32_t>(kWarmingUp + setting.steps)} * processes *
         setting.batch;
}

/// Trains an epoch.
class Trainee {
 public:
  Trainee(const WatchedSetting& setting, std::uint32_t processes)
      : setting_(setting),
        config_(make_config(setting, 1)),
        task_(setting, examples_of(setting, processes)),
        order_(order_of(task_.examples(), processes)) {
    config_.workers.count = processes;
  }

  Block train(std::chrono::seconds timeout) const {
    const Threads others = threads_of_this_process();
    const auto communicator = comm::make_communicator({.timeout = timeout});
    const Threads watching = threads_of_this_process();
    const auto feed = task_.make_feed();
    train::Engine engine({.config = config_, .model = task_.make_model(), .feed = feed.get()},
                         *communicator);
    const placement::StepPlan plan(order_, setting_.batch, placement::Uneven::kWeight);
    engine.begin_epoch(plan, 0, 0);
    std::uint32_t step = 0;
    const auto run_step = [&] {
      communicator->set_activity({.phase = "train", .epoch = 0, .step = step});
      engine.run_step(step++, config_.optimizer.lr);
    };
    for (int i = 0; i < kWarmingUp; ++i) run_step();
    double fastest = std::numeric_limits<double>::infinity();
    const double before = processor_seconds(), watched = cpu_seconds_since(others, watching);
    for (int i = 0; i < setting_.steps; ++i) fastest = std::min(fastest, seconds_of(run_step));
    double cpu[] = {(processor_seconds() - before) / setting_.steps,
                    (cpu_seconds_since(others, watching) - watched) / setting_.steps};
    communicator->all_reduce_sum(cpu);
    return {.fastest = fastest,
            .cpu = cpu[0],
            .watching = cpu[1],
            .weights = engine.model().parameters()};
  }

 private:
  WatchedSetting setting_;
  config::RunConfig config_;
  Task task_;
  placement::Parts order_;
};

/// A ratio to the way without a timeout.
struct Ratio {
  double median = 0;
  double low = 0;
  double high = 0;
};

Ratio ratio_of(const std::vector<double>& top, const std::vector<double>& bottom) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < top.size(); ++i) ratios.push_back(top[i] / bottom[i]);
  std::sort(ratios.begin(), ratios.end());
  const auto n = static_cast<double>(ratios.size());
  const auto out = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - 0.98 * std::sqrt(n))));
  return {ratios[ratios.size() / 2], ratios[out], ratios[ratios.size() - 1 - out]};
}

std::string text_of(const Ratio& ratio) {
  return fmt::format("{:.4f} ({:.4f} … {:.4f})", ratio.median, ratio.low, ratio.high);
}

void check_weights(const Trainee& trainee) {
  const Block without = trainee.train(kTimeouts[0]);
  for (std::size_t way = 1; way < kTimeouts.size(); ++way) {
    const Block with = trainee.train(kTimeouts[way]);
    for (std::size_t i = 0; i < with.weights.size(); ++i) {
      require(torch::equal(with.weights[i], without.weights[i]), fmt::format("parameter {}", i));
    }
  }
}

/// Collective: every process calls it, in the same order.
bool goes_on(double end) {
  int before_end = MPI_Wtime() < end ? 1 : 0;
  MPI_Bcast(&before_end, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return before_end != 0;
}

/// Whether the default may be called free.
bool run(const WatchedSetting& setting, int rank, int processes) {
  torch::set_num_threads(1);
  const Trainee trainee(setting, static_cast<std::uint32_t>(processes));
  check_weights(trainee);
  std::array<std::vector<double>, kTimeouts.size()> seconds, cpu, watching;
  const double start = MPI_Wtime();
  for (int round = 0; goes_on(start + setting.seconds); ++round) {
    for (std::size_t turn = 0; turn < kTimeouts.size(); ++turn) {
      const std::size_t shifted = (turn + static_cast<std::size_t>(round)) % kTimeouts.size();
      const std::size_t way = round % 2 == 0 ? shifted : kTimeouts.size() - 1 - shifted;
      const Block block = trainee.train(kTimeouts[way]);
      seconds[way].push_back(block.fastest);
      cpu[way].push_back(block.cpu);
      watching[way].push_back(block.watching);
    }
  }
  const Ratio clock = ratio_of(seconds[1], seconds[0]), of_cpu = ratio_of(cpu[1], cpu[0]);
  if (rank != 0) return true;
  fmt::print("{}, {} processes, batch {} each, {} rounds of {} steps: {:.2f} ms a step\n",
             setting.model, processes, setting.batch, cpu[0].size(), setting.steps,
             1e3 * median(seconds[0]));
  for (std::size_t way = 1; way < kTimeouts.size(); ++way) {
    fmt::print("  {:>3} s against 0: clock {}, CPU {}\n", kTimeouts[way].count(),
               text_of(ratio_of(seconds[way], seconds[0])), text_of(ratio_of(cpu[way], cpu[0])));
  }
  // Rounds are shorter than the pause between two pulses of the default: it has none in its steps.
  fmt::print("  watching takes {:.3f} % of the CPU time at 2 s\n",
             100 * sum(watching.back()) / sum(cpu.back()));
  return clock.low <= kAllowed && of_cpu.low <= kAllowed;
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  const auto given = static_cast<std::size_t>(std::min(argc, 3));
  impart::bench::WatchedSetting setting{
      impart::bench::read_setting({argv, given}, {.model = "small-cnn", .batch = 16})};
  if (argc > 3) setting.seconds = std::atof(argv[3]);
  if (argc > 4) setting.steps = std::atoi(argv[4]);
  // Communicators come and go: MPI is started here, and stays.
  int provided = 0, rank = 0, processes = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const bool is_free = impart::bench::run(setting, rank, processes);
  MPI_Finalize();
  return is_free ? 0 : 1;
}
