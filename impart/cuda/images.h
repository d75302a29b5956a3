#pragma once

#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// Makes batches out of images that are on the device, in one launch.
struct GatherImages {
  const std::uint8_t* pixels = nullptr;  ///< [N, channels, height, width]
  std::int64_t channels = 0, height = 0, width = 0;
  const float *mean = nullptr, *deviation = nullptr;  ///< [channels], of pixels scaled to 0..1
  const std::int64_t* ids = nullptr;                  ///< row b is image ids[b], 0..N-1
  /// Packed CropFlip (impart/data/images/augment.h) of every image, [N]; null: images as they are.
  const std::int32_t* choices = nullptr;
  const StepState* step = nullptr;  ///< if given, row b is image ids[step->first_row + b]
  std::int64_t rows = 0;            ///< at most 65535
  void* batch = nullptr;            ///< [rows, height, width, channels]
  Element element = Element::kFloat;
};

/// ((pixel / 255) - mean) / deviation of the image, cropped and mirrored; the very floats that
/// make_batch gives on the CPU, or these rounded to bfloat16. Reads and writes each value once.
void gather_images(const GatherImages& gather, Stream stream);

}  // namespace impart::cuda
