#pragma once

#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// Max-pooling of square windows that lie side by side. What is left over at the right and below is
/// left out, as torch::max_pool2d does.
struct PoolShape {
  std::int64_t rows = 0, height = 0, width = 0;  ///< of x
  std::int64_t channels = 0;                     ///< takes_channels (impart/cuda/batch_norm.h)
  int window = 2;                                ///< 1..kLargestWindow
  Element element = Element::kFloat;

  std::int64_t pooled_height() const { return height / window; }
  std::int64_t pooled_width() const { return width / window; }
};
inline constexpr int kLargestWindow = 15;

struct MaxPool {
  PoolShape shape;
  const void* x = nullptr;  ///< [rows, height, width, channels]
  void* y = nullptr;        ///< [rows, pooled height, pooled width, channels]
  /// Like y: which of its window's values, row by row, each is. The first of equal ones; NaN is
  /// larger than any.
  std::uint8_t* taps = nullptr;
};
void max_pool(const MaxPool& pool, Stream stream);

/// The way back: each gradient goes to where its value came from, and all else is 0.
struct MaxPoolBackward {
  PoolShape shape;
  const void* grad_y = nullptr;
  const std::uint8_t* taps = nullptr;
  void* grad_x = nullptr;  ///< every value is written if the windows leave nothing out
};
void max_pool_backward(const MaxPoolBackward& pool, Stream stream);

}  // namespace impart::cuda
