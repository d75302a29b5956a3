#pragma once

// What the backward kernels of batch norm share. For .cu files only.

#include <type_traits>

#include "impart/cuda/batch_norm.h"
#include "impart/cuda/worker_tiles.h"

namespace impart::cuda {

/// What a thread knows about its channels.
template <int kWidth>
struct ChannelFactors {
  float mean[kWidth], inverse[kWidth], weight[kWidth], bias[kWidth];
};

template <int kWidth>
__device__ ChannelFactors<kWidth> load_factors(const BatchNormBackward& norm, int worker,
                                               std::int64_t channel) {
  ChannelFactors<kWidth> factors;
  const std::int64_t at = worker * norm.array.channels + channel;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    factors.mean[i] = norm.mean[at + i];
    factors.inverse[i] = norm.inverse_deviation[at + i];
    factors.weight[i] = norm.weight[channel + i];
    factors.bias[i] = norm.bias[channel + i];
  }
  return factors;
}

/// Gradients of y behind the relu, and x normalised, at one place of the arrays.
template <class T>
struct Place {
  Pack<T> gradient, normal;
};

/// Where the sign of y comes from.
enum class Sign { kNone, kFromX, kFromY };

template <class T, Sign kSign, bool kTwo>
__device__ Place<T> load_place(const BatchNormBackward& norm,
                               const ChannelFactors<Pack<T>::kWidth>& factors,
                               std::int64_t position, std::int64_t channel) {
  const std::int64_t at = position * norm.array.channels + channel;
  Place<T> place;
  place.gradient = Pack<T>::load(static_cast<const T*>(norm.grad_y) + at);
  place.normal = Pack<T>::load(static_cast<const T*>(norm.x) + at);
  Pack<T> too, y;
  if constexpr (kTwo) too = Pack<T>::load(static_cast<const T*>(norm.grad_y_too) + at);
  if constexpr (kSign == Sign::kFromY) y = Pack<T>::load(static_cast<const T*>(norm.y) + at);
#pragma unroll
  for (int i = 0; i < Pack<T>::kWidth; ++i) {
    const float centred = place.normal.values[i] - factors.mean[i];
    if constexpr (kTwo) place.gradient.values[i] += too.values[i];
    if constexpr (kSign == Sign::kFromX) {
      // The very expression of the forward pass.
      const float value = fmaf(centred, factors.inverse[i] * factors.weight[i], factors.bias[i]);
      if (!(value > 0)) place.gradient.values[i] = 0;
    }
    if constexpr (kSign == Sign::kFromY) {
      if (!(y.values[i] > 0)) place.gradient.values[i] = 0;
    }
    place.normal.values[i] = centred * factors.inverse[i];
  }
  return place;
}

/// Calls function(sign, two) with the variant of load_place that a call needs, as constants.
template <class Function>
void with_variant(const BatchNormBackward& norm, Function&& function) {
  const auto with_sign = [&](auto sign) {
    if (norm.grad_y_too != nullptr) {
      function(sign, std::true_type{});
    } else {
      function(sign, std::false_type{});
    }
  };
  if (!norm.relu) {
    with_sign(std::integral_constant<Sign, Sign::kNone>{});
  } else if (norm.y == nullptr) {
    with_sign(std::integral_constant<Sign, Sign::kFromX>{});
  } else {
    with_sign(std::integral_constant<Sign, Sign::kFromY>{});
  }
}

/// Columns of a tile's sums that one block adds up over all workers, for the parameters.
template <class T, int kLanes>
constexpr int kParameterColumns =
    2 * Tile<T, kLanes>::kChannels < 32 ? 2 * Tile<T, kLanes>::kChannels : 32;

template <class T, int kLanes>
constexpr int kParameterBlocks = 2 * Tile<T, kLanes>::kChannels / kParameterColumns<T, kLanes>;

template <class T, int kLanes>
__device__ void add_up_parameters(const BatchNormBackward& norm, int group) {
  using Shape = Tile<T, kLanes>;
  constexpr int kColumns = 2 * Shape::kChannels, kOwn = kParameterColumns<T, kLanes>;
  __shared__ float totals[kOwn];
  const int splits = gridDim.x;
  const float* const first = norm.scratch + group * kOwn;
  const auto row = [&](int part) {
    const std::int64_t block = (part / splits * gridDim.y + blockIdx.y) * splits + part % splits;
    return first + block * kColumns;
  };
  add_rows<kOwn>(static_cast<int>(norm.array.workers) * splits, row, totals);
  if (threadIdx.x >= kOwn) return;
  const int column = group * kOwn + threadIdx.x;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + column % Shape::kChannels;
  if (channel >= norm.array.channels) return;
  (column < Shape::kChannels ? norm.grad_bias : norm.grad_weight)[channel] = totals[threadIdx.x];
}

/// In batch_norm_pool_backward.cu.
void differentiate_pooled(const BatchNormBackward& norm, Stream stream);

}  // namespace impart::cuda
