#pragma once

// Whole runs of a few seconds' fractions, with data and models of a test's own.

#include <memory>
#include <string>

#include "impart/comm/communicator.h"
#include "impart/config/config_text.h"
#include "impart/data/datasets.h"
#include "impart/feed/own_data.h"
#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/train/run.h"
#include "tests/support/temporary_folder.h"

namespace impart::testing {

inline config::RunConfig tiny_config(const TemporaryFolder& folder) {
  config::RunConfig config{
      .seed = 7, .epochs = 3, .device = config::RunConfig::Device::kCpu, .threads = 1};
  config.data = {.augment = "none", .train_examples = 90, .test_examples = 30};
  config.model.name = "mlp";
  config.workers = {.count = 3, .batch = 10};
  config.optimizer.lr = 0.02;
  config.importance = {.notion = "loss-average", .ignore = 0};
  config.partition = {.warmup = 1, .interval = 1};
  config.output = folder / "run";
  return config;
}

inline data::ImageData load_shapes() {
  return data::load_data({.name = "shapes", .seed = 1, .train_examples = 90, .test_examples = 30});
}

inline std::shared_ptr<models::Classifier> make_own_mlp(std::uint64_t seed) {
  auto model = models::make_mlp({.classes = 10, .channels = 3, .image_size = 32});
  models::initialise_parameters(*model, seed);
  return model;
}

inline train::RunOutcome run_alone(train::RunSpec spec) {
  spec.config_text = config::to_yaml(spec.config);
  spec.config_hash = config::config_hash(spec.config);
  const auto communicator = comm::make_single_communicator();
  return train::run_training(spec, *communicator, {});
}

}  // namespace impart::testing
