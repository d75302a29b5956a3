// Backward pass of batch norm. With g the gradient of y where relu let it through, x̂ the normalised
// input and n the number of values of a channel:
//   grad_bias   = Σ g                 grad_weight = Σ g x̂
//   grad_x      = weight · inverse_deviation · (g - Σ g / n - x̂ Σ g x̂ / n)
// `sum_gradients` takes the sums over parts of each worker's positions; `apply_gradients` adds the
// parts up, every block for itself. Its first blocks in z add up those of all workers, for the
// parameters.

#include <type_traits>

#include "impart/cuda/norm_gradients.h"

namespace impart::cuda {
namespace {

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

}  // namespace

void differentiate(const BatchNormBackward& norm, Stream stream) {
  if (norm.pooling.taps != nullptr) {
    differentiate_pooled(norm, stream);
    return;
  }
  const Cut shape = cut(norm.array);
  with_tile(norm.array.element, shape.lanes, [&](auto type, auto lanes) {
    with_variant(norm, [&](auto sign, auto two) {
      launch<decltype(type), lanes(), sign(), two()>(norm, shape, stream);
    });
  });
}

}  // namespace impart::cuda
