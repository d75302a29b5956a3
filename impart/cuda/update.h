#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// The gradient of one parameter and its place in the flat arrays of a model.
struct GradientSlice {
  const void* gradient = nullptr;  ///< in the order of the flat array
  Element element = Element::kFloat;
  std::int64_t start = 0, size = 0;
  bool has_half = false;  ///< whether the model computes with a bfloat16 copy of the parameter
};

/// One step of an optimiser over all parameters: reads gradients where backward passes left them,
/// changes the float master weights and the optimiser's state, and writes the bfloat16 copies. The
/// arithmetic is that of impart/train/update/optimizer.cpp. One launch for every 192 parameters.
struct Update {
  std::span<const GradientSlice> slices = {};  ///< on the host, read before the call returns
  float* values = nullptr;                     ///< flat, as the next two
  float *first = nullptr, *second = nullptr;   ///< SGD: momentum; AdamW: first, second moments
  void* halves = nullptr;                      ///< bfloat16 copies; may be null
  bool adamw = false;
  float momentum = 0, weight_decay = 0;
  bool nesterov = false;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  const StepState* step = nullptr;  ///< rate and corrections
  /// If positive, a gradient that is longer is shortened to it: two launches more. `scratch` must
  /// then have room for kNormBlocks + 1 floats.
  float clip_norm = 0;
  float* scratch = nullptr;
};
inline constexpr std::size_t kNormBlocks = 512;

void update(const Update& update, Stream stream);

}  // namespace impart::cuda
