#pragma once

// A tiny data set, its workers, and engines and lone replicas that train on it.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "impart/data/images/augment.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/train/engine.h"
#include "tests/models/tensors.h"

namespace impart::testing {

inline constexpr std::int64_t kExamples = 40, kClasses = 5;
inline constexpr std::uint32_t kWorkers = 4;

inline feed::DeviceImages make_images() {
  return {.pixels = random_tensor({kExamples, 3, 8, 8}, 1, 60, 128).clamp(0, 255).to(torch::kByte),
          .labels = torch::arange(kExamples).mul(7).remainder(kClasses),
          .mean = torch::tensor({0.5f, 0.4f, 0.6f}),
          .std = torch::tensor({0.2f, 0.3f, 0.25f})};
}

inline data::AugmentPlan augment(std::uint32_t) {
  return data::crop_and_flip({.seed = 2, .examples = kExamples, .padding = 2});
}

inline torch::Tensor make_augmentation() {
  return feed::put_on_device(augment(0), torch::kCPU);
}

inline std::shared_ptr<models::Classifier> make_empty_model(const std::string& name) {
  return find_entry(models::kModels, "model", name)
      .function({.classes = kClasses, .image_size = 8, .stem = models::Stem::kCifar});
}

inline std::shared_ptr<models::Classifier> make_model(const std::string& name,
                                                      std::uint64_t seed = 3) {
  auto model = make_empty_model(name);
  models::initialise_parameters(*model, seed);
  return model;
}

/// Orders of these lengths with ids that are spread over the data set.
inline placement::Parts make_order(const std::vector<std::uint64_t>& sizes) {
  placement::Parts order(sizes);
  std::uint64_t next = 0;
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    for (ExampleId& id : order.of(WorkerId{worker})) id = ExampleId{next++ * 13 % kExamples};
  }
  return order;
}

/// The examples in turn.
inline placement::Partition make_partition() {
  std::vector<WorkerId> owners;
  for (std::uint32_t id = 0; id < kExamples; ++id) owners.push_back(WorkerId{id % kWorkers});
  return {owners, kWorkers};
}

inline placement::StepPlan make_plan(const std::vector<std::uint64_t>& sizes, std::uint32_t batch) {
  return {make_order(sizes), batch, placement::Uneven::kWeight};
}

/// Four workers, plain gradient descent.
inline config::RunConfig plain() {
  config::RunConfig config;
  config.workers.count = kWorkers;
  config.optimizer = {.lr = 1, .momentum = 0, .nesterov = false, .weight_decay = 0};
  return config;
}

inline config::RunConfig with_momentum() {
  config::RunConfig config = plain();
  config.optimizer = {.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
  return config;
}

inline config::RunConfig with_sync(config::RunConfig config, config::SyncRule sync) {
  config.workers.sync = sync;
  return config;
}

inline constexpr config::SyncRule kEveryTwoSteps{.kind = config::SyncRule::Kind::kEverySteps,
                                                 .steps = 2};
inline constexpr config::SyncRule kAtTheEndOfTheEpoch{.kind = config::SyncRule::Kind::kEpoch};

inline torch::Tensor parameters_of(const models::Classifier& model) {
  std::vector<torch::Tensor> parameters;
  for (const torch::Tensor& parameter : model.parameters()) {
    parameters.push_back(parameter.detach().flatten().to(torch::kDouble));
  }
  return torch::cat(parameters);
}

inline void set_parameters(models::Classifier& model, const torch::Tensor& values) {
  const torch::NoGradGuard no_grad;
  std::int64_t start = 0;
  for (torch::Tensor& parameter : model.parameters()) {
    parameter.copy_(values.narrow(0, start, parameter.numel()).view_as(parameter));
    start += parameter.numel();
  }
}

/// An engine and what it needs to live.
struct Training {
  std::unique_ptr<comm::Communicator> communicator = comm::make_single_communicator();
  std::unique_ptr<feed::Feed> feed = feed::make_device_feed(make_images(), augment);
  std::unique_ptr<placement::StepPlan> plan;
  train::Engine engine;

  explicit Training(const config::RunConfig& config, const std::string& model = "small-cnn",
                    std::uint64_t seed = 3)
      : engine({.config = config, .model = make_model(model, seed), .feed = feed.get()},
               *communicator) {}

  /// Trains steps first..last-1 of a plan, which is kept: the end of the epoch looks at it, too.
  void train(placement::StepPlan steps, std::uint32_t first, std::uint32_t last, double rate,
             std::span<const float> weights = {}) {
    plan = std::make_unique<placement::StepPlan>(std::move(steps));
    engine.begin_epoch(*plan, 0, first, weights);
    for (std::uint32_t step = first; step < last; ++step) engine.run_step(step, rate);
  }
  torch::Tensor parameters() { return parameters_of(engine.model()); }
};

inline torch::Tensor ids_of(std::span<const ExampleId> ids) {
  std::vector<std::int64_t> numbers;
  for (const ExampleId id : ids) numbers.push_back(static_cast<std::int64_t>(index(id)));
  return torch::tensor(numbers, torch::kInt64);
}

/// A worker on its own, with a whole model: in double, where torch's own batch norm runs, but for
/// ResNets, in which rounding turns ReLUs on and off.
struct Alone {
  std::shared_ptr<models::Classifier> model;
  torch::ScalarType type;

  Alone(const std::string& name, const torch::Tensor& parameters)
      : model(make_empty_model(name)), type(name == "resnet18" ? torch::kFloat : torch::kDouble) {
    model->to(type);
    set_parameters(*model, parameters);
  }

  /// The losses of a batch, each on its own.
  torch::Tensor losses(std::span<const ExampleId> batch) {
    const auto ids = ids_of(batch);
    const auto images = make_images();
    const auto pixels = feed::make_batch(images, ids, make_augmentation()).to(type);
    return torch::nn::functional::cross_entropy(
        model->forward(pixels).logits, images.labels.index_select(0, ids),
        torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  }
  /// The gradient of the mean loss of a batch, or of Σ weight · loss / rows.
  torch::Tensor gradient(std::span<const ExampleId> batch, std::span<const float> weights = {}) {
    model->zero_grad();
    torch::Tensor each = losses(batch);
    for (std::size_t row = 0; row < batch.size() && !weights.empty(); ++row) {
      each = each.clone();
      each[static_cast<std::int64_t>(row)] *= double{weights[index(batch[row])]};
    }
    each.mean().backward();
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : model->parameters()) {
      gradients.push_back(parameter.grad().flatten().to(torch::kDouble));
    }
    return torch::cat(gradients);
  }
};

}  // namespace impart::testing
