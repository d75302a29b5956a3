#pragma once

#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// A 7×7 convolution of stride 2 over images of few channels wastes most of what a tensor core can
/// do. Folding makes it a 4×4 convolution of stride 1, without border, over images of half the
/// size whose 2×2 neighbouring pixels became channels:
///
///     folded[row][j][i][(2 p + q) channels + c] = image[row][2 (j - 2) + p][2 (i - 2) + q][c]
///
/// with zeros outside the image and in the channels up to kFoldedChannels, so the folded image
/// has height / 2 + 3 rows. The weights are folded alike; the numbers that are multiplied and added
/// are the same.
inline constexpr std::int64_t kFoldedChannels = 16, kFoldedKernel = 4;
inline constexpr std::int64_t kMostFoldableChannels = 4;

struct FoldImages {
  const void* images = nullptr;  ///< [rows, height, width, channels]; height and width are even
  void* folded = nullptr;        ///< [rows, height / 2 + 3, width / 2 + 3, kFoldedChannels]
  std::int64_t rows = 0, height = 0, width = 0, channels = 0;
  Element element = Element::kFloat;
};
/// Whether images can be folded: few channels, even sides, and not too large.
bool can_fold(std::int64_t height, std::int64_t width, std::int64_t channels, Element element);
void fold_images(const FoldImages& fold, Stream stream);

/// [outputs, 7, 7, channels] and [outputs, 4, 4, kFoldedChannels].
struct FoldWeights {
  void* weights = nullptr;
  void* folded = nullptr;
  std::int64_t outputs = 0, channels = 0;
  Element element = Element::kFloat;
};
/// From weights to folded ones.
void fold_weights(const FoldWeights& fold, Stream stream);
/// From folded ones, their gradients for example, to weights.
void unfold_weights(const FoldWeights& fold, Stream stream);

}  // namespace impart::cuda
