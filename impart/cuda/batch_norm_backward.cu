// Backward pass of batch norm. With g the gradient of y where relu let it through, x̂ the normalised
// input and n the number of values of a channel:
//   grad_bias   = Σ g                 grad_weight = Σ g x̂
//   grad_x      = weight · inverse_deviation · (g - Σ g / n - x̂ Σ g x̂ / n)
// `sum_gradients` takes the sums over parts of each worker's positions; `apply_gradients` adds the
// parts up, every block for itself. Its first blocks in z add up those of all workers, for the
// parameters.

#include <type_traits>

#include "impart/cuda/batch_norm.h"
#include "impart/cuda/worker_tiles.h"

namespace impart::cuda {
namespace {

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

/// Where the sign of y comes from. kPooled: from x, and the gradient comes through pooling.
enum class Sign { kNone, kFromX, kFromY, kPooled };

/// The gradient of the values before pooling at a position: those of the pooled values, up to four,
/// that are this one.
template <class T, bool kTwo>
__device__ Pack<T> gather_pooled(const BatchNormBackward& norm, std::int64_t position,
                                 std::int64_t channel) {
  constexpr int kWindow = 3, kWidth = Pack<T>::kWidth;
  const int height = static_cast<int>(norm.pooling.height);
  const int width = static_cast<int>(norm.pooling.width);
  const int pooled_height = (height + 1) / 2, pooled_width = (width + 1) / 2;
  const std::int64_t row = position / (height * width);
  const int pixel = static_cast<int>(position - row * height * width);
  const int y = pixel / width, x = pixel % width;
  Pack<T> sum{};
  for (int out_y = y / 2; out_y <= (y + 1) / 2 && out_y < pooled_height; ++out_y) {
    for (int out_x = x / 2; out_x <= (x + 1) / 2 && out_x < pooled_width; ++out_x) {
      const int tap = (y - 2 * out_y + 1) * kWindow + x - 2 * out_x + 1;
      const std::int64_t at =
          ((row * pooled_height + out_y) * pooled_width + out_x) * norm.array.channels + channel;
      Pack<T> gradient = Pack<T>::load(static_cast<const T*>(norm.grad_y) + at);
      if constexpr (kTwo) {
        const Pack<T> too = Pack<T>::load(static_cast<const T*>(norm.grad_y_too) + at);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) gradient.values[i] += too.values[i];
      }
      alignas(8) std::uint8_t taps[kWidth];
      if constexpr (kWidth == 8) {
        *reinterpret_cast<uint2*>(taps) = *reinterpret_cast<const uint2*>(norm.pooling.taps + at);
      } else {
        *reinterpret_cast<std::uint32_t*>(taps) =
            *reinterpret_cast<const std::uint32_t*>(norm.pooling.taps + at);
      }
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        if (taps[i] == tap) sum.values[i] += gradient.values[i];
      }
    }
  }
  return sum;
}

template <class T, Sign kSign, bool kTwo>
__device__ Place<T> load_place(const BatchNormBackward& norm,
                               const ChannelFactors<Pack<T>::kWidth>& factors,
                               std::int64_t position, std::int64_t channel) {
  const std::int64_t at = position * norm.array.channels + channel;
  Place<T> place;
  if constexpr (kSign == Sign::kPooled) {
    place.gradient = gather_pooled<T, kTwo>(norm, position, channel);
  } else {
    place.gradient = Pack<T>::load(static_cast<const T*>(norm.grad_y) + at);
  }
  place.normal = Pack<T>::load(static_cast<const T*>(norm.x) + at);
  constexpr bool kAdds = kTwo && kSign != Sign::kPooled;
  Pack<T> too, y;
  if constexpr (kAdds) too = Pack<T>::load(static_cast<const T*>(norm.grad_y_too) + at);
  if constexpr (kSign == Sign::kFromY) y = Pack<T>::load(static_cast<const T*>(norm.y) + at);
#pragma unroll
  for (int i = 0; i < Pack<T>::kWidth; ++i) {
    const float centred = place.normal.values[i] - factors.mean[i];
    if constexpr (kAdds) place.gradient.values[i] += too.values[i];
    if constexpr (kSign == Sign::kFromX || kSign == Sign::kPooled) {
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

template <class T, int kLanes, Sign kSign, bool kTwo>
__global__ void __launch_bounds__(kThreads) sum_gradients(const BatchNormBackward norm) {
  using Shape = Tile<T, kLanes>;
  const Range range = range_of(norm.array, blockIdx.z, blockIdx.x, gridDim.x);
  const std::int64_t channels = norm.array.channels;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + threadIdx.x % kLanes * Shape::kPack;
  float sum[Shape::kPack] = {}, products[Shape::kPack] = {};
  if (channel < channels && range.begin < range.end) {
    const auto factors = load_factors<Shape::kPack>(norm, blockIdx.z, channel);
#pragma unroll 4
    for (std::int64_t at = range.first + threadIdx.x / kLanes; at < range.last;
         at += Shape::kPositions) {
      const auto place = load_place<T, kSign, kTwo>(norm, factors, at, channel);
#pragma unroll
      for (int i = 0; i < Shape::kPack; ++i) {
        sum[i] += place.gradient.values[i];
        products[i] = fmaf(place.gradient.values[i], place.normal.values[i], products[i]);
      }
    }
  }
  const std::int64_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  store_block_sums<T, kLanes>(sum, products, norm.scratch + block * 2 * Shape::kChannels);
}

/// Columns of a tile's sums that one block adds up over all workers, for the parameters.
constexpr int kParameterColumns = 32;

template <class T, int kLanes>
constexpr int kParameterBlocks = 2 * Tile<T, kLanes>::kChannels / kParameterColumns;

template <class T, int kLanes>
__device__ void add_up_parameters(const BatchNormBackward& norm, int group) {
  using Shape = Tile<T, kLanes>;
  constexpr int kColumns = 2 * Shape::kChannels;
  __shared__ float totals[kParameterColumns];
  const int splits = gridDim.x;
  const float* const first = norm.scratch + group * kParameterColumns;
  const auto row = [&](int part) {
    const std::int64_t block = (part / splits * gridDim.y + blockIdx.y) * splits + part % splits;
    return first + block * kColumns;
  };
  add_rows<kParameterColumns>(static_cast<int>(norm.array.workers) * splits, row, totals);
  if (threadIdx.x >= kParameterColumns) return;
  const int column = group * kParameterColumns + threadIdx.x;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + column % Shape::kChannels;
  if (channel >= norm.array.channels) return;
  (column < Shape::kChannels ? norm.grad_bias : norm.grad_weight)[channel] = totals[threadIdx.x];
}

template <class T, int kLanes, Sign kSign, bool kTwo>
__global__ void __launch_bounds__(kThreads) apply_gradients(const BatchNormBackward norm) {
  using Shape = Tile<T, kLanes>;
  constexpr int kOthers = kParameterBlocks<T, kLanes>;
  if (blockIdx.z < kOthers) {
    if (blockIdx.x == 0) add_up_parameters<T, kLanes>(norm, blockIdx.z);
    return;
  }
  constexpr int kColumns = 2 * Shape::kChannels;
  __shared__ float totals[kColumns];
  const int worker = blockIdx.z - kOthers;
  const Range range = range_of(norm.array, worker, blockIdx.x, gridDim.x);
  if (range.begin == range.end) return;
  const std::int64_t tile = worker * gridDim.y + blockIdx.y;
  const float* const first = norm.scratch + tile * gridDim.x * kColumns;
  add_rows<kColumns>(
      gridDim.x, [&](int part) { return first + part * kColumns; }, totals);
  const std::int64_t channels = norm.array.channels;
  const int inside = threadIdx.x % kLanes * Shape::kPack;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + inside;
  if (channel >= channels) return;
  const auto factors = load_factors<Shape::kPack>(norm, worker, channel);
  const float count = static_cast<float>(range.end - range.begin);
  float scale[Shape::kPack], mean_gradient[Shape::kPack], mean_product[Shape::kPack];
#pragma unroll
  for (int i = 0; i < Shape::kPack; ++i) {
    scale[i] = factors.weight[i] * factors.inverse[i];
    mean_gradient[i] = totals[inside + i] / count;
    mean_product[i] = totals[Shape::kChannels + inside + i] / count;
  }
  T* const grad_x = static_cast<T*>(norm.grad_x);
  T* const grad_residual = static_cast<T*>(norm.grad_residual);
#pragma unroll 4
  for (std::int64_t at = range.first + threadIdx.x / kLanes; at < range.last;
       at += Shape::kPositions) {
    auto place = load_place<T, kSign, kTwo>(norm, factors, at, channel);
    if (grad_residual != nullptr) place.gradient.store(grad_residual + at * channels + channel);
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) {
      place.gradient.values[i] = scale[i] * (place.gradient.values[i] - mean_gradient[i] -
                                             place.normal.values[i] * mean_product[i]);
    }
    place.gradient.store(grad_x + at * channels + channel);
  }
}

template <class T, int kLanes, Sign kSign, bool kTwo>
void launch(const BatchNormBackward& norm, const Cut& cut, Stream stream) {
  const auto workers = static_cast<unsigned>(norm.array.workers);
  const dim3 grid(cut.splits, cut.tiles, workers);
  const dim3 with_parameters(cut.splits, cut.tiles, workers + kParameterBlocks<T, kLanes>);
  sum_gradients<T, kLanes, kSign, kTwo><<<grid, kThreads, 0, stream>>>(norm);
  check_launch("sum_gradients");
  apply_gradients<T, kLanes, kSign, kTwo><<<with_parameters, kThreads, 0, stream>>>(norm);
  check_launch("apply_gradients");
}

template <class T, int kLanes, Sign kSign>
void launch(const BatchNormBackward& norm, const Cut& cut, Stream stream) {
  if (norm.grad_y_too != nullptr) {
    launch<T, kLanes, kSign, true>(norm, cut, stream);
  } else {
    launch<T, kLanes, kSign, false>(norm, cut, stream);
  }
}

}  // namespace

void differentiate(const BatchNormBackward& norm, Stream stream) {
  const Cut shape = cut(norm.array);
  with_tile(norm.array.element, shape.lanes, [&](auto type, auto lanes) {
    using T = decltype(type);
    if (norm.pooling.taps != nullptr) {
      launch<T, lanes(), Sign::kPooled>(norm, shape, stream);
    } else if (!norm.relu) {
      launch<T, lanes(), Sign::kNone>(norm, shape, stream);
    } else if (norm.y == nullptr) {
      launch<T, lanes(), Sign::kFromX>(norm, shape, stream);
    } else {
      launch<T, lanes(), Sign::kFromY>(norm, shape, stream);
    }
  });
}

}  // namespace impart::cuda
