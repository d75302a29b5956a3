#pragma once

#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// Filters of 3×3 pixels that are not trained, each with its negative, rectified:
///
///     responses[row][pixel][2 k] = relu(s_k), responses[row][pixel][2 k + 1] = relu(-s_k)
///
/// where s_k is filter k over the pixel's neighbours, zeros outside the image.
struct FilterPatches {
  const void* images = nullptr;  ///< [rows, height, width, channels]
  std::int64_t rows = 0, height = 0, width = 0, channels = 0;
  const float* filters = nullptr;  ///< [count, 3, 3, channels]
  std::int64_t count = 0;          ///< a multiple of 4
  void* responses = nullptr;       ///< [rows, height, width, 2 count]
  Element element = Element::kFloat;
};

/// Whether the kernel takes such images: few channels, and a border's room in shared memory.
bool can_filter_patches(const FilterPatches& call);
void filter_patches(const FilterPatches& call, Stream stream);

}  // namespace impart::cuda
