#pragma once

#include <cstdint>
#include <memory>

#include <torch/types.h>

#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/train/batch_signals.h"
#include "impart/train/device/device_update.h"

namespace impart::train {

/// What the rows of recorded steps go through; all must outlive them.
struct DeviceRowsSpec {
  const SignalSet* signals = nullptr;  ///< null: none are collected
  models::Classifier* model = nullptr;
  bool half = false;           ///< whether the model takes bfloat16 images
  double label_smoothing = 0;  ///< as in OptimizerConfig
  bool weighted = false;       ///< whether examples have weights in some epochs
  feed::Feed* feed = nullptr;  ///< must have a DevicePlan
};

/// The rows of an epoch, which a GPU finds without the host's help: which of them a step has, it
/// reads from the cell of the step's update. What it reads and writes stays where it is from epoch
/// to epoch, where it can, so that recorded work can be replayed.
class DeviceRows {
 public:
  virtual ~DeviceRows() = default;

  /// After the feed has begun the epoch, with so many rows and their weights; undefined: all are 1.
  /// Whether everything is where it was: if not, what was recorded before is worth nothing.
  bool begin_epoch(std::int64_t rows, const torch::Tensor& weights);

  /// Forward and backward pass of the step's rows, by kernels alone; their signals are collected on
  /// the way.
  virtual void differentiate(const models::WorkerLayout& layout, DeviceUpdate& update) = 0;

  /// The signals of the epoch's first rows, on the host: waits for the device.
  torch::Tensor collected(std::int64_t rows) const;
  torch::Device device() const { return spec_.feed->device(); }

 protected:
  explicit DeviceRows(const DeviceRowsSpec& spec) : spec_(spec) {}

  /// Takes what rows are made from. Whether it is where it was.
  virtual bool take_data(const feed::DevicePlan& plan) = 0;

  DeviceRowsSpec spec_;
  torch::Tensor ids_;        ///< int64 [room]
  torch::Tensor choices_;    ///< as DevicePlan has them
  torch::Tensor weights_;    ///< [room]; undefined: no epoch has any
  torch::Tensor collected_;  ///< [signals, room]
};

std::unique_ptr<DeviceRows> make_image_rows(const DeviceRowsSpec& spec);
std::unique_ptr<DeviceRows> make_block_rows(const DeviceRowsSpec& spec);
/// Of what the feed has.
std::unique_ptr<DeviceRows> make_device_rows(const DeviceRowsSpec& spec);

}  // namespace impart::train
