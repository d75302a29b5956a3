#pragma once

#include <cstdint>
#include <span>

#include "impart/core/philox.h"

namespace impart::kernels {

/// Which mask of dropout: equal specs give equal masks on every machine.
struct DropoutMaskSpec {
  PhiloxKey key;            ///< of the step
  std::uint32_t layer = 0;  ///< which dropout layer of the model
  std::uint32_t worker = 0;
  std::uint32_t dropped = 0;  ///< of 65536 elements so many are dropped, on average
  float kept = 1;             ///< the mask where an element is kept; 0 elsewhere
};

/// Elements of a mask are drawn in groups of this many.
inline constexpr std::int64_t kDropoutGroup = 128;

/// Fills elements kDropoutGroup · first_group, … of a worker's mask; the last group may be cut.
///
/// An element costs 16 random bits. Group g uses the 16 Philox blocks with the counters
/// {low word of b, high word of b, layer, worker}, b = 16 g .. 16 g + 15; its element e is the half
/// word e / 16 (low half of word 0, high half of word 0, low half of word 1, …) of block e mod 16.
/// It is dropped if that half word is less than `dropped`.
void draw_dropout_mask(const DropoutMaskSpec& spec, std::int64_t first_group,
                       std::span<float> mask);

}  // namespace impart::kernels
