#pragma once

#include <cstdint>
#include <span>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// What the masks of a step are drawn with. Kernels of a recorded step read it from the device, so
/// that a record draws other masks every time.
struct DropoutKey {
  std::uint32_t words[2] = {};
};

/// Stores `value` at `key`, after what is on the stream already.
void set_dropout_key(DropoutKey* key, DropoutKey value, Stream stream);

/// Rows of a batch that belong to one worker.
struct DropoutSlice {
  std::uint32_t worker = 0, rows = 0;
};

/// output = trunk + input · mask, with the mask of impart/models/kernels/dropout_kernel.h, which is
/// never stored. One launch for every 256 workers.
struct Dropout {
  const void* input = nullptr;  ///< [rows, width], as the output
  const void* trunk = nullptr;  ///< likewise; null: zeros
  void* output = nullptr;
  Element element = Element::kFloat;
  std::int64_t width = 0;
  std::span<const DropoutSlice> slices = {};  ///< on the host, read before the call returns
  const DropoutKey* key = nullptr;
  std::uint32_t layer = 0;
  std::uint32_t dropped = 0;  ///< of 65536
  float kept = 1;             ///< what an element that is kept is multiplied with
};
void drop(const Dropout& dropout, Stream stream);

}  // namespace impart::cuda
