#pragma once

#include <cstddef>
#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// An array [rows, pixels, channels], channels running fastest ("channels last"), whose rows belong
/// to workers: worker w has rows starts[w] .. starts[w + 1] - 1, perhaps none.
struct WorkerArray {
  std::int64_t pixels = 1;
  std::int64_t channels = 0;  ///< a multiple of 8 (bfloat16) or 4 (float)
  std::int64_t workers = 1;
  std::int64_t longest = 0;              ///< most rows of a worker
  const std::int64_t* starts = nullptr;  ///< [workers + 1]; null: one worker has all rows
  Element element = Element::kFloat;
};

/// Whether the kernels can take arrays with so many channels; the arrays must start at multiples of
/// 16 bytes.
bool takes_channels(std::int64_t channels, Element element);

/// Max-pooling of windows of 3×3 pixels, 2 apart, with a border of 1, after batch norm and relu.
/// What is outside the image does not count.
struct Pooling {
  std::int64_t height = 0, width = 0;  ///< of x; that of y is half of it, rounded up
  /// [rows, pixels of y, channels]: which of its window's 9 values each value of y is. Null: no
  /// pooling.
  std::uint8_t* taps = nullptr;

  std::int64_t pooled_height() const { return (height + 1) / 2; }
  std::int64_t pooled_width() const { return (width + 1) / 2; }
};

/// y = relu((x - mean) · inverse_deviation · weight + bias + residual), with each worker's own mean
/// and deviation per channel; relu and residual are optional. With pooling there is relu and no
/// residual, and y is pooled.
struct BatchNorm {
  WorkerArray array;
  const void* x = nullptr;
  const void* residual = nullptr;  ///< may be null
  void* y = nullptr;
  const float *weight = nullptr, *bias = nullptr;              ///< [channels]
  float *mean = nullptr, *inverse_deviation = nullptr;         ///< out: [workers, channels]
  float *running_mean = nullptr, *running_variance = nullptr;  ///< [workers, channels], or null
  std::int64_t* batches = nullptr;                             ///< becomes one more; may be null
  float momentum = 0.1f, epsilon = 1e-5f;
  bool relu = false;
  Pooling pooling = {};
  float* scratch = nullptr;  ///< scratch_floats(array)
};

/// Room that the passes over an array need in between.
std::size_t scratch_floats(const WorkerArray& array);

/// Measures, normalises and moves the running statistics (as WorkerBatchNorm2d describes) in two
/// launches, or in one where a block can hold all values of a worker's channels. Reads x once or
/// twice, writes y once.
void normalise(const BatchNorm& norm, Stream stream);

/// The same with given statistics, those of all workers alike: mean and inverse_deviation are not
/// written, running_mean and running_variance ([channels]) are read. One launch.
void normalise_with_running(const BatchNorm& norm, Stream stream);

/// The way back through `normalise`.
struct BatchNormBackward {
  WorkerArray array;
  const void* x = nullptr;
  /// The output, if relu and a residual were used; else null: the sign is found from x.
  const void* y = nullptr;
  const void* grad_y = nullptr;
  const void* grad_y_too = nullptr;  ///< a second summand of the gradient of y, or null
  const float *weight = nullptr, *bias = nullptr;
  const float *mean = nullptr, *inverse_deviation = nullptr;
  bool relu = false;
  Pooling pooling = {};
  void* grad_x = nullptr;
  void* grad_residual = nullptr;                       ///< null if there was none
  float *grad_weight = nullptr, *grad_bias = nullptr;  ///< [channels], summed over the workers
  float* scratch = nullptr;
};

/// Two launches; reads x and the gradient twice.
void differentiate(const BatchNormBackward& norm, Stream stream);

}  // namespace impart::cuda
