#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <torch/types.h>

#include "impart/models/layers/dropout.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/train/device/device_rows.h"
#include "impart/train/device/device_update.h"
#include "impart/train/device/step_graph.h"

namespace impart::train {

/// Whole training steps on a GPU without work for the host: gather the batch, forward, loss and
/// signals, backward, optimiser. All that an epoch needs is on the device before it begins. The
/// first two steps with so many rows of each worker run as they are; then every kind of step (these
/// rows, the weights that it changes) is recorded as a graph, and from there on replayed. What
/// differs between steps (where the rows are, the learning rate) is read from a cell on the device
/// that is set before each.
class DeviceSteps {
 public:
  /// Leaves the default stream for good. `models`: sets of weights that steps change, each with an
  /// update.
  explicit DeviceSteps(const DeviceRowsSpec& spec, std::size_t models = 1);

  /// After the feed has begun the epoch, with so many rows and their weights; undefined: all are 1.
  /// Epochs of another length do not record again what they share.
  void begin_epoch(std::int64_t rows, const torch::Tensor& weights);

  struct Step {
    const models::WorkerLayout* layout = nullptr;
    /// Whose rows they are, as the model's dropout layers are told; none if there are no such.
    std::span<const models::DropoutPlan::Slice> slices = {};
    DeviceUpdate* update = nullptr;  ///< of the weights that the step is for
    std::int64_t first_row = 0;      ///< in the epoch
    std::uint64_t examples = 0;
    double learning_rate = 0;
    /// Lets the model have these weights, where there are several: called if the step is not
    /// replayed.
    std::function<void()> use_weights = {};
    GraphMemory* memory = nullptr;  ///< of the graph; null: it has its own
  };
  /// On the current stream.
  void run(const Step& step);

  /// The signals of the epoch's first rows, on the host: waits for the device.
  torch::Tensor collected(std::int64_t rows) const { return rows_->collected(rows); }

 private:
  /// A kind of step.
  struct Kind {
    DeviceUpdate* update = nullptr;
    std::shared_ptr<models::WorkerLayout> layout;  ///< the graph reads its copy on the device
    std::vector<models::DropoutPlan::Slice> slices;
    std::unique_ptr<StepGraph> graph = nullptr;
  };

  Kind& find_kind(const Step& step);
  void compute(const Kind& kind);

  models::Classifier& model_;
  std::size_t models_;
  std::unique_ptr<DeviceRows> rows_;
  std::list<Kind> kinds_;  ///< the last used first
  /// Steps of such layouts (WorkerLayout::starts) that were not replayed.
  std::map<std::vector<std::int64_t>, int> runs_;
};

}  // namespace impart::train
