// What a training step costs on the CPU in fp32 and in bf16.
//
//   build/release/bin/precision_bench [MODEL [BATCH [ROUNDS [THREADS]]]]
//
// Steps of the engine (4 workers that share the batch, importance tracked) in either precision take
// turns. Times are the clock's and, for machines with other work, the processor's; medians, and the
// median ratio of neighbouring steps. Before anything is timed, the losses of the first step must
// agree to 2 %. bench/python/precision_against_torch.py holds them against PyTorch's.

#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "bench/training_task.h"
#include "impart/core/processor.h"

namespace impart::bench {
namespace {

using Precision = config::RunConfig::Precision;
constexpr std::uint32_t kWorkers = 4;

config::RunConfig with_precision(const Setting& setting, Precision precision) {
  config::RunConfig config = make_config(setting, kWorkers);
  config.precision = precision;
  return config;
}

/// An engine that repeats the steps of one epoch.
class Loop {
 public:
  Loop(const Setting& setting, Precision precision, const Task& task)
      : training_(with_precision(setting, precision), task),
        plan_(order_of(task.examples(), kWorkers), training_.config().workers.batch,
              placement::Uneven::kWeight) {}

  void time_step() {
    train::Engine& engine = training_.engine();
    if (step_ == plan_.steps() || step_ == 0) {
      engine.begin_epoch(plan_, 0, 0);
      step_ = 0;
    }
    const double processor = processor_seconds();
    clock_.push_back(
        seconds_of([&] { engine.run_step(step_++, training_.config().optimizer.lr); }));
    processor_.push_back(processor_seconds() - processor);
  }
  double loss() { return training_.engine().running_loss().value(); }
  void forget_times() {
    clock_.clear();
    processor_.clear();
  }
  const std::vector<double>& clock() const { return clock_; }
  const std::vector<double>& processor() const { return processor_; }

 private:
  Training training_;
  placement::StepPlan plan_;
  std::uint32_t step_ = 0;
  std::vector<double> clock_, processor_;
};

double median_ratio(const std::vector<double>& top, const std::vector<double>& bottom) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < top.size(); ++i) ratios.push_back(top[i] / bottom[i]);
  return median(ratios);
}

void print_times(std::string_view name, const Loop& loop) {
  fmt::print("{}: {:.1f} ms a step, {:.1f} ms of the processor\n", name, 1e3 * median(loop.clock()),
             1e3 * median(loop.processor()));
}

void run(const Setting& setting, int threads) {
  require(setting.batch % kWorkers == 0, "BATCH is a multiple of 4");
  torch::set_num_threads(threads);
  const Task task(setting);
  Loop single(setting, Precision::kFp32, task), half(setting, Precision::kBf16, task);
  const auto take_turns = [&](int round) {
    (round % 2 == 0 ? single : half).time_step();
    (round % 2 == 0 ? half : single).time_step();
  };
  take_turns(0);
  require(std::abs(half.loss() / single.loss() - 1) < 0.02, "the loss of the first step in bf16");
  take_turns(1);
  single.forget_times();
  half.forget_times();
  for (int round = 0; round < setting.rounds; ++round) take_turns(round);
  fmt::print("{} batch {} x {} rounds, {} threads, LibTorch {}{}\n", setting.model, setting.batch,
             setting.rounds, threads, TORCH_VERSION,
             has_bfloat16_products(read_processor()) ? "" : ", a CPU without products of bfloat16");
  print_times("fp32", single);
  print_times("bf16", half);
  fmt::print("bf16 / fp32: {:.3f}, of the processor {:.3f}\n",
             median_ratio(half.clock(), single.clock()),
             median_ratio(half.processor(), single.processor()));
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  const std::span<char* const> arguments{argv, static_cast<std::size_t>(argc)};
  impart::bench::run(impart::bench::read_setting(arguments),
                     argc > 4 ? std::atoi(arguments[4]) : 2);
}
