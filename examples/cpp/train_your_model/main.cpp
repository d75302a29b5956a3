// A model and data of your own in impart's engine. The data: points of three arms of a spiral, made
// here, as tensors. The model: three linear layers. impart tracks the importance of every point,
// repartitions by it, evaluates, checkpoints and leaves a run directory that `impart report` reads:
//   train_your_model epochs=20 importance.notion=forgetting partition.heuristic=blocks
// Every key of `impart train --keys` can be changed, and `mpirun -n 2` works, too.

#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/config/config_file.h"
#include "impart/config/config_text.h"
#include "impart/feed/own_data.h"
#include "impart/impart.h"
#include "impart/models/classifier.h"
#include "impart/train/run.h"

namespace {

using namespace impart;

constexpr std::int64_t kArms = 3;

/// Points on the arms of a spiral, with noise: [N, 2], and the number of the arm of each.
feed::TensorSet make_spiral(std::int64_t examples, std::uint32_t part) {
  RandomStream random({.seed = 1, .purpose = Purpose("spiral"), .epoch = part});
  feed::TensorSet set{.inputs = torch::empty({examples, 2}),
                      .targets = torch::empty({examples}, torch::kInt64)};
  auto points = set.inputs.accessor<float, 2>();
  auto arms = set.targets.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < examples; ++i) {
    arms[i] = i % kArms;
    const double radius = random.uniform();
    const double turn = static_cast<double>(arms[i]) / kArms + radius + 0.03 * random.normal();
    points[i][0] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * turn));
    points[i][1] = static_cast<float>(radius * std::sin(2 * std::numbers::pi * turn));
  }
  return set;
}

/// Any torch::nn model, that besides its logits gives what goes into its last layer.
class SpiralNet : public models::Classifier {
 public:
  SpiralNet() {
    hidden1_ = register_module("hidden1", torch::nn::Linear(2, 64));
    hidden2_ = register_module("hidden2", torch::nn::Linear(64, 64));
    out_ = register_module("out", torch::nn::Linear(64, kArms));
  }

  Output forward(torch::Tensor points) override {
    const torch::Tensor features = hidden2_(hidden1_(points).relu()).relu();
    return {.logits = out_(features), .features = features};
  }

 private:
  torch::nn::Linear hidden1_{nullptr}, hidden2_{nullptr}, out_{nullptr};
};

config::RunConfig make_config(int argc, char** argv) {
  std::vector<std::string> settings = {
      "name=spiral",        "data.name=spiral",    "model.name=spiral-net",
      "epochs=12",          "workers.count=4",     "workers.batch=16",
      "optimizer.lr=0.1",   "importance.ignore=1", "partition.heuristic=stripes",
      "partition.warmup=3", "partition.interval=3"};
  settings.insert(settings.end(), argv + 1, argv + argc);
  return config::load_config(std::nullopt, settings, {.model = true, .data = true});
}

void print_epoch(const train::EpochReport& epoch) {
  std::printf("epoch %2u: loss %.3f, test accuracy %.1f %%%s%s\n", epoch.epoch + 1,
              epoch.train_loss, epoch.test_accuracy.value_or(0),
              epoch.event.empty() ? "" : ", partition: ", epoch.event.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const config::RunConfig config = make_config(argc, argv);
  const auto communicator = comm::make_communicator();
  torch::manual_seed(config.seed);
  const auto model = std::make_shared<SpiralNet>();
  comm::run_job(*communicator, [&] {
    return train::run_training(
        {.config = config,
         .config_text = config::to_yaml(config),
         .config_hash = config::config_hash(config),
         .overwrite = true,
         .own_model = model,
         .own_data =
             [] {
               return feed::OwnData{feed::TensorData{
                   .train = make_spiral(3000, 0), .test = make_spiral(600, 1), .classes = kArms}};
             }},
        *communicator, {.epoch = print_epoch});
  });
  if (communicator->rank() != 0) return 0;

  // The model is trained now, and yours to use.
  const torch::NoGradGuard no_grad;
  model->eval();
  const torch::Tensor center_of_arm_0 =
      torch::tensor({{-0.5f, 0.0f}}).to(model->parameters().front().device());
  std::printf(
      "the point (-0.5, 0) is on arm %lld; run directory %s\n",
      static_cast<long long>(model->forward(center_of_arm_0).logits.argmax(1).item<std::int64_t>()),
      config.output.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_your_model: %s\n", error.what());
  return 1;
}
