#pragma once

#include <cstdint>

#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// A rectangle of a picture, in pixels.
struct CropBox {
  std::uint32_t left = 0, top = 0, width = 0, height = 0;

  friend bool operator==(const CropBox&, const CropBox&) = default;
};

/// The part of a width × height picture that one training visit sees: torchvision's
/// RandomResizedCrop with its defaults. Up to ten times, a share of the area uniform in 0.08..1 and
/// an aspect ratio with a logarithm uniform in log 3/4..log 4/3 are drawn; the first rectangle that
/// fits is put at a uniform place. If none fits, it is the largest centred one with an aspect ratio
/// in 3/4..4/3.
///
/// The draws are those of the RandomStream with seed words[0] + 2^32 words[1], purpose "crop",
/// epoch words[2] and worker words[3]: uniform() for the area and uniform() for the ratio of each
/// try, then below(height - h + 1) for the top and below(width - w + 1) for the left edge.
CropBox choose_random_crop(std::uint32_t width, std::uint32_t height, const DecodeChoices& choices);

/// The part of one axis that evaluation sees: a picture of this extent is brought to `resized`
/// pixels, of which `size` from `first` on remain.
struct CentreCrop {
  std::uint32_t resized = 0, first = 0;
};

/// What the shorter side of a photograph is brought to if `size` pixels remain: round(size /
/// 0.875).
std::uint32_t usual_resize(std::uint32_t size);

/// Of the axis with `extent` pixels of a picture whose shorter side has `shorter` pixels:
/// torchvision's Resize(resize) and CenterCrop(size).
CentreCrop choose_centre_crop(std::uint32_t extent, std::uint32_t shorter, std::uint32_t size,
                              std::uint32_t resize);

}  // namespace impart::data
