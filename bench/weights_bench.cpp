// What the weights of a selection add to a training step.
//
//   build/release/bin/weights_bench [MODEL [BATCH [ROUNDS]]]
//
// One engine, one epoch of two steps again and again: a round is one without weights, one with
// them, and another without, and each round begins with another of the three. Printed is what the
// second and the third take more than the first: medians over the rounds with 95 % intervals. The
// latter is what the machine makes of nothing. Beginning an epoch, where rows get their weights, is
// timed too. Times are the processor's, which count nobody else's work. Before anything is timed, a
// step with weights of 2 at half the learning rate must change the model as a plain one does.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "bench/training_task.h"
#include "impart/core/random.h"

namespace impart::bench {
namespace {

constexpr std::uint32_t kSteps = 2;

config::RunConfig weighing_config(const Setting& setting) {
  config::RunConfig config = make_config(setting, 4);
  config.optimizer.weight_decay = 0;
  config.selection.strategy = "infobatch";
  return config;
}

/// The first steps of an order.
placement::Parts cut_to_steps(const placement::Parts& order, const config::RunConfig& config) {
  const std::uint64_t rows = std::uint64_t{kSteps} * config.workers.batch;
  placement::Parts first(std::vector<std::uint64_t>(order.workers(), rows));
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    const auto ids = order.of(WorkerId{worker}).first(rows);
    std::copy(ids.begin(), ids.end(), first.of(WorkerId{worker}).begin());
  }
  return first;
}

/// An engine that repeats an epoch of kSteps.
class EngineLoop {
 public:
  EngineLoop(const Setting& setting, const Task& task)
      : training_(weighing_config(setting), task),
        plan_(cut_to_steps(order_of(task.examples(), training_.config().workers.count),
                           training_.config()),
              training_.config().workers.batch, placement::Uneven::kWeight) {
    require(plan_.steps() == kSteps, "steps of the epoch");
  }

  /// Of a step, the beginning of the epoch counted in.
  double seconds_per_step(std::span<const float> weights) {
    const double start = processor_seconds();
    run(kSteps, training_.config().optimizer.lr, weights);
    return (processor_seconds() - start) / kSteps;
  }
  void run(std::uint32_t steps, double learning_rate, std::span<const float> weights) {
    train::Engine& engine = training_.engine();
    engine.begin_epoch(plan_, 0, 0, weights);
    for (std::uint32_t step = 0; step < steps; ++step) engine.run_step(step, learning_rate);
  }
  models::Classifier& model() { return training_.engine().model(); }

 private:
  Training training_;
  placement::StepPlan plan_;
};

void check_weights_count(const Setting& setting, const Task& task) {
  EngineLoop plain(setting, task), weighted(setting, task), ignoring(setting, task);
  const std::vector<float> twos(task.examples(), 2);
  plain.run(1, 0.01, {});
  weighted.run(1, 0.005, twos);
  ignoring.run(1, 0.005, {});
  bool differ = false;
  for (std::size_t i = 0; i < plain.model().parameters().size(); ++i) {
    const torch::Tensor wanted = plain.model().parameters()[i];
    require(torch::allclose(weighted.model().parameters()[i], wanted, 1e-4, 1e-6),
            fmt::format("parameter {} after a weighted step", i));
    differ = differ || !torch::allclose(ignoring.model().parameters()[i], wanted, 1e-4, 1e-6);
  }
  require(differ, "weights that are left out make no difference");
}

/// Weights as infobatch gives them: 1, or 2 for those that stand for a hidden one.
std::vector<float> make_weights(std::uint64_t examples) {
  RandomStream random({.seed = 1, .purpose = Purpose("bench")});
  std::vector<float> weights(examples);
  for (float& weight : weights) weight = random.below(2) == 0 ? 1.0f : 2.0f;
  return weights;
}

/// A median and its 95 % interval, by the order of the values alone.
struct Middle {
  double low = 0, median = 0, high = 0;
};
Middle middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double reach = 0.98 * std::sqrt(count);
  const auto at = [&](double place) {
    return values[static_cast<std::size_t>(std::clamp(place, 0.0, count - 1))];
  };
  return {
      .low = at(count / 2 - reach - 1), .median = median(values), .high = at(count / 2 + reach)};
}

void say(const char* what, const std::vector<double>& ratios) {
  const Middle ratio = middle_of(ratios);
  fmt::print("{:<28}{:+8.3f} %   ({:+.3f} to {:+.3f})\n", what, 100 * (ratio.median - 1),
             100 * (ratio.low - 1), 100 * (ratio.high - 1));
}

void run(const Setting& setting) {
  require(setting.batch >= 4 && setting.batch % 4 == 0 && setting.batch <= 256,
          "BATCH is a multiple of 4, up to 256");
  torch::set_num_threads(1);
  const Task task(setting);
  check_weights_count(setting, task);

  const std::vector<float> weights = make_weights(task.examples());
  EngineLoop loop(setting, task);
  std::vector<double> plain, with_weights, again;
  for (int round = 0; round < setting.rounds + 3; ++round) {
    std::array<double, 3> seconds{};
    for (int turn = 0; turn < 3; ++turn) {
      const auto kind = static_cast<std::size_t>((turn + round) % 3);
      const auto chosen = kind == 1 ? std::span<const float>(weights) : std::span<const float>();
      seconds[kind] = loop.seconds_per_step(chosen);
    }
    if (round < 3) continue;  // warming up
    plain.push_back(seconds[0]);
    with_weights.push_back(seconds[1] / seconds[0]);
    again.push_back(seconds[2] / seconds[0]);
  }
  fmt::print("{} batch {} x {} steps x {} rounds, 1 thread\n", setting.model, setting.batch, kSteps,
             setting.rounds);
  fmt::print("plain step                  {:8.2f} ms\n", 1e3 * median(plain));
  say("weights add", with_weights);
  say("nothing adds", again);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  impart::bench::run(impart::bench::read_setting(
      {argv, static_cast<std::size_t>(argc)}, {.model = "small-cnn", .batch = 32, .rounds = 300}));
}
