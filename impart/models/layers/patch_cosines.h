#pragma once

#include <cstdint>

#include <torch/types.h>

namespace impart::models {

/// A first layer that is not trained: how much of each of the largest cosines of photos there is in
/// the 3×3 pixels around every pixel, each of them and its negative rectified.
///
/// Cosines are nearly the principal components of small patches of photos. Each is divided by how
/// much of it photos usually have, so that all responses are about equally large: the patches are
/// whitened as K. Jordan does with the eigenvectors of CIFAR-10 (2024), without a look at the data.
class PatchCosines {
 public:
  /// Images have so many channels, normalised to mean 0 and deviation 1.
  explicit PatchCosines(std::int64_t channels);

  /// [B, channels, H, W] to [B, responses(), H, W]. No gradient goes further back.
  torch::Tensor forward(const torch::Tensor& images);

  std::int64_t responses() const { return 2 * filters_.size(0); }

 private:
  /// The filters where `like` is.
  const torch::Tensor& filters_for(const torch::Tensor& like);

  torch::Tensor filters_;  ///< [count, 3, 3, channels]
  torch::Tensor placed_;   ///< the same on the device that was last asked for
};

}  // namespace impart::models
