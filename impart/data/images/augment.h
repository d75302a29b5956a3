#pragma once

#include <cstdint>
#include <vector>

#include "impart/core/named_table.h"

namespace impart::data {

/// How one visit changes an image before it is normalised: shift it by whole pixels, zeros coming
/// in at the border, then mirror it or not. Output pixel (y, x) is input pixel (y + down, x' +
/// right) where x' is x, or width - 1 - x if mirrored: torchvision's RandomCrop with padding,
/// followed by RandomHorizontalFlip.
struct CropFlip {
  int right = 0, down = 0;  ///< -kLargestShift..kLargestShift
  bool mirrored = false;

  friend bool operator==(const CropFlip&, const CropFlip&) = default;
};

/// A CropFlip in 32 bits, for arrays and devices: bits 0-7 are right + 128, bits 8-15 are
/// down + 128, bit 16 is mirrored, the rest is 0.
inline constexpr int kLargestShift = 127;
inline constexpr int kShiftBias = 128;

constexpr std::int32_t pack(const CropFlip& choice) {
  return (choice.right + kShiftBias) | (choice.down + kShiftBias) << 8 |
         static_cast<std::int32_t>(choice.mirrored) << 16;
}
constexpr CropFlip unpack_crop_flip(std::int32_t packed) {
  return {.right = (packed & 255) - kShiftBias,
          .down = (packed >> 8 & 255) - kShiftBias,
          .mirrored = (packed >> 16 & 1) != 0};
}

/// Which choices to make.
struct AugmentSpec {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t examples = 0;
  int padding = 4;  ///< largest shift of `crop-flip` in pixels, 0..kLargestShift
};

/// What one epoch does to every example: element i is the packed CropFlip of example i, whoever
/// visits it. Empty if nothing is done to any.
using AugmentPlan = std::vector<std::int32_t>;

/// Makes the choices of one epoch. Pure: every process makes the same. ConfigError if the padding
/// is out of range.
using Augmentation = AugmentPlan(const AugmentSpec& spec);

/// `crop-flip` draws from the stream (seed, "augment", epoch): word i decides example i. Of the
/// 2 (2 padding + 1)² choices each is as likely as the others to within 2^-15 of its probability.
/// About 10 ns an example. `resized-crop-flip` mirrors as crop-flip with padding 0 does.
///
/// `shift-mirror` shifts as crop-flip with padding 2 does, and mirrors a random half of the
/// examples in even epochs, the other half in odd ones: two epochs show both sides of every example
/// (K. Jordan's alternating flip, 2024).
Augmentation leave_alone, crop_and_flip, flip, shift_and_mirror;

struct AugmentationEntry : Entry<Augmentation> {
  /// Whether images are decoded with random choices, too (decode_choices, example_set.h).
  bool random_decode = false;
};

inline constexpr AugmentationEntry kAugmentations[] = {
    {{"none", "images as they are", leave_alone}},
    {{"crop-flip", "random crop out of the image padded with zeros, random mirroring",
      crop_and_flip}},
    {{"resized-crop-flip",
      "photos: random part of random size, random mirroring; other images: mirroring only", flip},
     true},
    {{"shift-mirror", "random shifts of up to 2 pixels, mirrored in every second epoch",
      shift_and_mirror}},
};
static_assert(names_are_unique(kAugmentations));

}  // namespace impart::data
