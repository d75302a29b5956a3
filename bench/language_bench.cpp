// How fast a language model trains, and how much of a GPU's matrix units it uses.
//
//   language_bench [MODEL [BLOCK [BATCH [STEPS [PEAK]]]]]      gpt2-small 1024 32 20 989
//
// Steps of the engine on random tokens of a vocabulary of 50 304, on a GPU in bf16 if there is one,
// else on the CPU in fp32; with the signals of one notion, and without. The arithmetic of a step is
// counted as 6 operations per parameter and token, and 12 × layers × width × block per token for
// attention; PEAK is that of the device, in TFLOP/s. The loss of the first step must be that of
// guessing, ln(vocabulary), and the last one lower.

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/feed/token_feed.h"
#include "impart/models/init.h"
#include "impart/models/text/text_models.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/train/engine.h"

namespace impart::bench {
namespace {

constexpr std::uint32_t kVocabulary = 50304;
constexpr int kWarmUp = 3;

struct Setting {
  std::string model = "gpt2-small";
  std::uint32_t block = 1024, batch = 32;
  std::uint32_t steps = 20;
  double peak = 989;
};

/// A small alphabet, so that there is something to learn.
data::TokenSet make_tokens(const Setting& setting, std::uint64_t examples) {
  data::TokenSet set{.vocabulary = kVocabulary, .length = setting.block};
  RandomStream random({.seed = 1, .purpose = Purpose("bench")});
  for (std::uint64_t i = 0; i < examples; ++i) {
    set.starts.push_back(set.tokens.size());
    set.lengths.push_back(setting.block + 1);
    for (std::uint32_t t = 0; t <= setting.block; ++t) {
      set.tokens.push_back(static_cast<data::Token>(97 * random.below(100)));
    }
  }
  return set;
}

struct Measured {
  double seconds_per_step = 0;
  double first_loss = 0, last_loss = 0;
  double operations_per_token = 0;
};

Measured measure(const Setting& setting, torch::Device device, bool track) {
  config::RunConfig config;
  config.workers.count = 4;
  config.workers.batch = setting.batch / 4;
  config.precision =
      device.is_cuda() ? config::RunConfig::Precision::kBf16 : config::RunConfig::Precision::kFp32;
  config.optimizer = {.name = config::OptimizerConfig::Name::kAdamw, .lr = 3e-4, .clip_norm = 1};
  config.importance.notion = "loss-average";
  const std::uint64_t examples = std::uint64_t{setting.batch} * (setting.steps + kWarmUp);
  const auto feed = feed::make_token_feed(make_tokens(setting, examples), device);
  auto model = find_entry(models::kTextModels, "model", setting.model)
                   .function({.vocabulary = kVocabulary, .length = setting.block});
  models::initialise_parameters(*model, 1);
  model->to(device);
  Measured measured;
  double width = 0, layers = 0;
  for (const auto& parameter : model->named_parameters()) {
    measured.operations_per_token += 6.0 * static_cast<double>(parameter.value().numel());
    if (parameter.key() == "transformer.ln_f.weight") {
      width = static_cast<double>(parameter.value().numel());
    }
    if (parameter.key().ends_with("ln_1.weight")) layers += 1;
  }
  measured.operations_per_token += 12 * layers * width * setting.block;

  const auto communicator = comm::make_single_communicator();
  train::Engine engine(
      {.config = config, .model = model, .feed = feed.get(), .collect_signals = track},
      *communicator);
  const std::vector<float> nothing(examples);
  const placement::StepPlan plan(
      placement::order_epoch(placement::shuffle_evenly(nothing, {.workers = 4}), {}),
      config.workers.batch, placement::Uneven::kWeight);
  engine.begin_epoch(plan, 0, 0);
  const auto wait = [&] {
    if (device.is_cuda()) torch::cuda::synchronize();
  };
  std::uint32_t step = 0;
  while (step < kWarmUp) engine.run_step(step++, config.optimizer.lr);
  wait();
  measured.seconds_per_step = seconds_of([&] {
                                while (step < kWarmUp + setting.steps) {
                                  engine.run_step(step++, config.optimizer.lr);
                                }
                                wait();
                              }) /
                              setting.steps;
  if (track) {
    const auto losses = engine.collected_signals()[train::SignalSet::kLossRow];
    measured.first_loss = losses.narrow(0, 0, setting.batch).mean().item<double>();
    measured.last_loss =
        losses.narrow(0, losses.size(0) - setting.batch, setting.batch).mean().item<double>();
    require(std::abs(measured.first_loss - std::log(kVocabulary)) < 0.3, "the loss of guessing");
    require(measured.last_loss < measured.first_loss, "a loss that falls");
  }
  return measured;
}

void run(const Setting& setting) {
  const torch::Device device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  fmt::print("{}, block {}, batch {}, {} steps, {}\n", setting.model, setting.block, setting.batch,
             setting.steps, device.is_cuda() ? "GPU, bf16" : "CPU, fp32");
  const double tokens = static_cast<double>(setting.block) * setting.batch;
  double silent = 0;
  for (const bool track : {false, true}) {
    const Measured m = measure(setting, device, track);
    const double speed = tokens / m.seconds_per_step;
    fmt::print("{:<20} {:9.2f} ms a step  {:10.0f} tokens/s  {:6.1f} TFLOP/s, {:.1f} % of {}\n",
               track ? "with loss-average" : "without signals", 1e3 * m.seconds_per_step, speed,
               speed * m.operations_per_token / 1e12,
               100 * speed * m.operations_per_token / 1e12 / setting.peak, setting.peak);
    if (!track) silent = m.seconds_per_step;
    if (track) {
      fmt::print("tracking {:+.2f} %; loss {:.3f} to {:.3f}\n",
                 100 * (m.seconds_per_step / silent - 1), m.first_loss, m.last_loss);
    }
  }
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  impart::bench::Setting setting;
  if (argc > 1) setting.model = argv[1];
  if (argc > 2) setting.block = static_cast<std::uint32_t>(std::atoi(argv[2]));
  if (argc > 3) setting.batch = static_cast<std::uint32_t>(std::atoi(argv[3]));
  if (argc > 4) setting.steps = static_cast<std::uint32_t>(std::atoi(argv[4]));
  if (argc > 5) setting.peak = std::atof(argv[5]);
  impart::bench::run(setting);
}
