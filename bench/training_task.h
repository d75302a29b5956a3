#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "impart/data/datasets.h"
#include "impart/feed/token_feed.h"
#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/text/text_models.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/train/engine.h"

namespace impart::bench {

/// Of a benchmark of steps.
struct Setting {
  std::string model = "resnet18";
  std::uint32_t batch = 256;
  int rounds = 15;
};

/// A setting from the arguments MODEL BATCH ROUNDS, as far as they are given.
inline Setting read_setting(std::span<char* const> arguments, Setting setting = {}) {
  if (arguments.size() > 1) setting.model = arguments[1];
  if (arguments.size() > 2) setting.batch = static_cast<std::uint32_t>(std::atoi(arguments[2]));
  if (arguments.size() > 3) setting.rounds = std::atoi(arguments[3]);
  return setting;
}

/// Plain training with the signals of one notion, `workers` sharing the batch.
inline config::RunConfig make_config(const Setting& setting, std::uint32_t workers) {
  config::RunConfig config;
  config.model.name = setting.model;
  config.workers.count = workers;
  config.workers.batch = setting.batch / workers;
  config.optimizer.lr = 0.01;
  config.importance.notion = "loss-variance";
  return config;
}

inline constexpr std::uint32_t kBlock = 64;  ///< tokens

/// What is trained: images, or blocks of text for models of language.
class Task {
 public:
  explicit Task(const Setting& setting) : Task(setting, std::max(2048u, 8 * setting.batch)) {}
  Task(const Setting& setting, std::uint64_t examples) : setting_(setting), examples_(examples) {
    is_text_ =
        std::any_of(std::begin(models::kTextModels), std::end(models::kTextModels),
                    [&](const models::TextModelEntry& row) { return row.name == setting.model; });
    if (is_text_) {
      text_ = data::load_text(
          {.blocks = {.length = kBlock}, .train_examples = examples, .test_examples = 1});
    } else {
      images_ = feed::put_on_device(
          data::load_data({.train_examples = examples, .test_examples = 1}).train, torch::kCPU);
    }
  }

  std::uint64_t examples() const { return examples_; }
  std::unique_ptr<feed::Feed> make_feed() const {
    if (is_text_) return feed::make_token_feed(text_.train, torch::kCPU);
    return feed::make_device_feed(images_, {});
  }
  std::shared_ptr<models::Classifier> make_model() const {
    auto model =
        is_text_ ? find_entry(models::kTextModels, "model", setting_.model)
                       .function({.vocabulary = text_.train.vocabulary, .length = kBlock})
                 : find_entry(models::kModels, "model", setting_.model).function({.classes = 10});
    models::initialise_parameters(*model, 1);
    return model;
  }

 private:
  Setting setting_;
  std::uint64_t examples_;
  bool is_text_ = false;
  data::TextData text_;
  feed::DeviceImages images_;
};

/// A shuffled epoch of so many examples.
inline placement::Parts order_of(std::uint64_t examples, std::uint32_t workers) {
  const std::vector<float> nothing(examples);
  return placement::order_epoch(placement::shuffle_evenly(nothing, {.workers = workers}), {});
}

/// What an engine needs, and the engine.
class Training {
 public:
  Training(const config::RunConfig& config, const Task& task, bool track = true)
      : config_(config),
        communicator_(comm::make_single_communicator()),
        feed_(task.make_feed()),
        engine_({.config = config_,
                 .model = task.make_model(),
                 .feed = feed_.get(),
                 .collect_signals = track},
                *communicator_) {}

  const config::RunConfig& config() const { return config_; }
  train::Engine& engine() { return engine_; }

 private:
  config::RunConfig config_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::unique_ptr<feed::Feed> feed_;
  train::Engine engine_;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace impart::bench
