#pragma once

// Engines that train small images, on the CPU and on a GPU.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "impart/data/datasets.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/train/engine.h"
#include "tests/cuda/gpu_test.h"

namespace impart::testing {

inline const data::ImageData& data() {
  static const data::ImageData loaded =
      data::load_data({.train_examples = 300, .test_examples = 90});
  return loaded;
}

inline config::RunConfig config_of(const std::string& model) {
  config::RunConfig config;
  config.model.name = model;
  config.workers.count = 4;
  config.workers.batch = 16;
  config.optimizer.lr = 0.02;
  config.importance.notion = "loss-variance";
  config.importance.record = {"forgetting", "margin", "grad-norm"};
  return config;
}

inline feed::EpochAugmentation augmentation(std::uint64_t examples) {
  return [examples](std::uint32_t epoch) {
    return data::crop_and_flip({.seed = 1, .epoch = epoch, .examples = examples});
  };
}

/// An engine and all it needs, on a device.
class Training {
 public:
  Training(const config::RunConfig& config, torch::Device device)
      : Training(
            config, device,
            feed::make_device_feed(feed::put_on_device(data().train, device), augmentation(300))) {}
  /// Of the same 300 images, fed in another way.
  Training(const config::RunConfig& config, torch::Device device,
           std::unique_ptr<feed::Feed> train_feed)
      : communicator(comm::make_single_communicator()),
        feed(std::move(train_feed)),
        test(feed::make_device_feed(feed::put_on_device(data().test, device), augmentation(90))),
        engine({.config = config, .model = make_model(config, device), .feed = feed.get()},
               *communicator),
        config_(config) {}

  /// Trains an epoch, or only its first steps. Returns the signals.
  torch::Tensor train(std::uint32_t epoch, std::uint32_t steps = ~0u) {
    return train_selected(placement::kSelections[0], epoch, steps);
  }

  /// The same of what is selected, by a share that differs from epoch to epoch.
  torch::Tensor train_selected(const placement::SelectionEntry& selection, std::uint32_t epoch,
                               std::uint32_t steps = ~0u) {
    const std::vector<float> nothing(300);
    const placement::Parts parts =
        placement::shuffle_evenly(nothing,
                                  {.workers = config_.workers.count, .seed = 3, .epoch = epoch})
            .parts();
    const placement::Selected selected =
        placement::select_visits(selection, {.parts = parts, .examples = 300},
                                 {.epoch = epoch, .share = std::max(0.0, 0.4 - 0.1 * epoch)});
    return train_visits(selected.visits, selected.weights, epoch, steps);
  }

  /// The same of given visits.
  torch::Tensor train_visits(const placement::Parts& visits, const std::vector<float>& weights,
                             std::uint32_t epoch, std::uint32_t steps = ~0u) {
    const placement::StepPlan plan(placement::order_visits(visits, {.epoch = epoch}),
                                   config_.workers.batch, placement::Uneven::kWeight);
    engine.begin_epoch(plan, epoch, 0, weights);
    for (std::uint32_t step = 0; step < std::min(plan.steps(), steps); ++step) {
      engine.run_step(step, config_.optimizer.lr);
    }
    engine.end_epoch();
    return engine.collected_signals();
  }

  /// Goes on where another one is.
  void take_state_of(Training& other) {
    const torch::NoGradGuard no_grad;
    const auto from = other.engine.model().parameters();
    auto to = engine.model().parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
    const auto state = other.engine.gather_state();
    engine.restore_state([&](const std::string& name) {
      for (const auto& [known, tensor] : state) {
        if (known == name) return tensor;
      }
      return torch::Tensor();
    });
  }

  torch::Tensor parameters() {
    std::vector<torch::Tensor> all;
    for (const auto& p : engine.model().parameters()) {
      all.push_back(p.detach().cpu().contiguous().flatten());
    }
    return torch::cat(all);
  }

  std::unique_ptr<comm::Communicator> communicator;
  std::unique_ptr<feed::Feed> feed, test;
  train::Engine engine;

 private:
  static std::shared_ptr<models::Classifier> make_model(const config::RunConfig& config,
                                                        torch::Device device) {
    auto model = find_entry(models::kModels, "model", config.model.name)
                     .function({.classes = 10, .norm = config.model.norm});
    models::initialise_parameters(*model, 1);
    model->to(device);
    return model;
  }
  config::RunConfig config_;
};

inline constexpr std::uint32_t kEpochs = 3;  // the short last step is recorded, too

/// The losses of the first steps: later ones of deep networks differ as rounding errors grow.
inline double loss_distance(const torch::Tensor& a, const torch::Tensor& b, std::int64_t steps) {
  return distance(a[0].narrow(0, 0, 64 * steps), b[0].narrow(0, 0, 64 * steps));
}

}  // namespace impart::testing
