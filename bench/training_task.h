#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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

namespace impart::bench {

/// Of a benchmark of steps.
struct Setting {
  std::string model = "resnet18";
  std::uint32_t batch = 256;
  int rounds = 15;
};

inline constexpr std::uint32_t kBlock = 64;  ///< tokens

/// What is trained: images, or blocks of text for models of language.
class Task {
 public:
  explicit Task(const Setting& setting) : setting_(setting) {
    const std::uint64_t examples = std::max(2048u, 8 * setting.batch);
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
    examples_ = examples;
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
  bool is_text_ = false;
  std::uint64_t examples_ = 0;
  data::TextData text_;
  feed::DeviceImages images_;
};

/// A shuffled epoch of all examples.
inline placement::Parts order_of(const Task& task, std::uint32_t workers) {
  const std::vector<float> nothing(task.examples());
  return placement::order_epoch(placement::shuffle_evenly(nothing, {.workers = workers}), {});
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace impart::bench
