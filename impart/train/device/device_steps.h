#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/batch_signals.h"
#include "impart/train/device/device_update.h"
#include "impart/train/device/step_graph.h"

namespace impart::train {

/// What recorded steps are made of; all must outlive them.
struct DeviceStepsSpec {
  const SignalSet* signals = nullptr;  ///< null: none are collected
  models::Classifier* model = nullptr;
  bool half = false;               ///< whether the model takes bfloat16 images
  double label_smoothing = 0;      ///< as in OptimizerConfig
  bool weighted = false;           ///< whether examples have weights in some epochs
  DeviceUpdate* update = nullptr;  ///< of the model
  feed::Feed* feed = nullptr;      ///< must have everything on the device
};

/// Whole training steps on a GPU without work for the host: gather the batch, forward, loss and
/// signals, backward, optimiser. All that an epoch needs is on the device before it begins. The
/// first steps of a kind (rows of each worker) run as they are; then the step is recorded as a
/// graph, and from there on replayed. What differs between steps (where the rows are, the learning
/// rate) is read from a cell on the device that is set before each.
class DeviceSteps {
 public:
  /// Leaves the default stream for good.
  explicit DeviceSteps(const DeviceStepsSpec& spec);
  ~DeviceSteps();
  DeviceSteps(const DeviceSteps&) = delete;
  DeviceSteps& operator=(const DeviceSteps&) = delete;

  /// After the feed has begun the epoch, with so many rows and their weights; undefined: all are 1.
  /// Epochs of another length do not record again what they share.
  void begin_epoch(std::int64_t rows, const torch::Tensor& weights);

  struct Step {
    const std::vector<std::int64_t>* starts = nullptr;  ///< as in WorkerLayout
    std::int64_t first_row = 0;                         ///< in the epoch
    std::uint64_t examples = 0;
    double learning_rate = 0;
  };
  void run(const Step& step);

  /// The signals of the epoch's first rows, on the host: waits for the device.
  torch::Tensor collected(std::int64_t rows) const;

 private:
  /// A kind of step.
  struct Kind {
    std::shared_ptr<models::WorkerLayout> layout;  ///< the graph reads its copy on the device
    int runs = 0;
    std::unique_ptr<StepGraph> graph = nullptr;
  };

  Kind& find_kind(const std::vector<std::int64_t>& starts);
  void compute(const Kind& kind);
  torch::Tensor gather_batch(std::int64_t rows);
  torch::Tensor measure(const models::Classifier::Output& output);
  void give_side_stream(tensors::SideStream* side);

  DeviceStepsSpec spec_;
  tensors::SideStream side_;  ///< for gradients of convolutions' weights
  feed::DeviceImages images_;
  torch::Tensor ids_, choices_, collected_;
  torch::Tensor weights_;  ///< of the rows; undefined: no epoch has any
  std::list<Kind> kinds_;  ///< the last used first
};

}  // namespace impart::train
