// Batch norm, relu and max-pooling in one: the normalised array, four times as large as the pooled
// one, is never written.

#include "impart/cuda/norm_factors.h"

namespace impart::cuda {
namespace {

constexpr int kWindow = 3;

/// One thread per pack of channels of a pooled position. The first of equal values wins.
template <class T, int kLanes, bool kRunning>
__global__ void __launch_bounds__(kThreads)
    apply_and_pool(const BatchNorm norm, const int parts, const int height, const int width,
                   const int pooled_height, const int pooled_width) {
  using Shape = Tile<T, kLanes>;
  __shared__ Factors<Shape::kChannels> factors;
  const std::int64_t channels = norm.array.channels;
  const Range range = range_of(norm.array, blockIdx.z, blockIdx.x, gridDim.x);
  count_batch(norm);
  if (range.begin == range.end) return;
  prepare_factors<T, kLanes, kRunning>(norm, range, parts, factors);
  const int inside = threadIdx.x % kLanes * Shape::kPack;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + inside;
  if (channel >= channels) return;
  float mean[Shape::kPack], scale[Shape::kPack], bias[Shape::kPack];
#pragma unroll
  for (int i = 0; i < Shape::kPack; ++i) {
    mean[i] = factors.mean[inside + i];
    scale[i] = factors.scale[inside + i];
    bias[i] = factors.bias[inside + i];
  }
  WorkerArray pooled = norm.array;
  pooled.pixels = pooled_height * pooled_width;
  const Range out = range_of(pooled, blockIdx.z, blockIdx.x, gridDim.x);
  for (std::int64_t at = out.first + threadIdx.x / kLanes; at < out.last; at += Shape::kPositions) {
    const std::int64_t row = at / pooled.pixels;
    const int pixel = static_cast<int>(at - row * pooled.pixels);
    const int top = pixel / pooled_width * 2 - 1, left = pixel % pooled_width * 2 - 1;
    const T* const image =
        static_cast<const T*>(norm.x) + row * height * width * channels + channel;
    Pack<T> best;
    alignas(8) std::uint8_t taps[Shape::kPack];
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) best.values[i] = -INFINITY, taps[i] = 0;
#pragma unroll
    for (int tap = 0; tap < kWindow * kWindow; ++tap) {
      const int y = top + tap / kWindow, x = left + tap % kWindow;
      if (y < 0 || y >= height || x < 0 || x >= width) continue;
      const Pack<T> pack = Pack<T>::load(image + (y * width + x) * channels);
#pragma unroll
      for (int i = 0; i < Shape::kPack; ++i) {
        const float value = fmaf(pack.values[i] - mean[i], scale[i], bias[i]);
        if (value > best.values[i] || value != value) {
          best.values[i] = value;
          taps[i] = static_cast<std::uint8_t>(tap);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) best.values[i] = fmaxf(best.values[i], 0.f);
    best.store(static_cast<T*>(norm.y) + at * channels + channel);
    std::uint8_t* const taps_at = norm.pooling.taps + at * channels + channel;
    if constexpr (Shape::kPack == 8) {
      *reinterpret_cast<uint2*>(taps_at) = *reinterpret_cast<const uint2*>(taps);
    } else {
      *reinterpret_cast<std::uint32_t*>(taps_at) = *reinterpret_cast<const std::uint32_t*>(taps);
    }
  }
}

}  // namespace

void apply_pooled(const BatchNorm& norm, bool running, const Cut& measured, Stream stream) {
  const Pooling& pooling = norm.pooling;
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  const dim3 grid(measured.splits, measured.tiles, static_cast<unsigned>(norm.array.workers));
  with_tile(norm.array.element, measured.lanes, [&](auto type, auto lanes) {
    using T = decltype(type);
    auto* const kernel =
        running ? apply_and_pool<T, lanes(), true> : apply_and_pool<T, lanes(), false>;
    kernel<<<grid, kThreads, 0, stream>>>(norm, measured.splits, number(pooling.height),
                                          number(pooling.width), number(pooling.pooled_height()),
                                          number(pooling.pooled_width()));
  });
  check_launch("normalise and pool");
}

}  // namespace impart::cuda
