// The way back through batch norm, relu and max-pooling. A thread takes the 2×2 pixels that lie
// under one pooled value. They are in four windows: the value's own and those to the right, below,
// and both; each window's gradient goes to the one pixel that was its largest.

#include <type_traits>

#include "impart/cuda/norm_gradients.h"

namespace impart::cuda {
namespace {

constexpr int kQuad = 4;

/// Which value of window `window` (0: own, 1: right, 2: below, 3: both) pixel `pixel` (0..3, row by
/// row) of a quad is; -1 if it is not in the window.
__host__ __device__ constexpr int tap_of(int window, int pixel) {
  const int row = pixel / 2 + 1 - 2 * (window / 2), column = pixel % 2 + 1 - 2 * (window % 2);
  return row < 0 || column < 0 ? -1 : row * 3 + column;
}

/// Gradients behind the relu and normalised x of the pixels of a quad, and where they are.
template <class T>
struct Quad {
  Pack<T> gradient[kQuad], normal[kQuad];
  std::int64_t at[kQuad];  ///< in x; negative outside the image
};

struct Image {
  int height, width, pooled_height, pooled_width;
};

/// The gradient and the taps of a window.
template <class T, bool kTwo>
__device__ void add_window(const BatchNormBackward& norm, std::int64_t at, int window,
                           Quad<T>& quad) {
  constexpr int kWidth = Pack<T>::kWidth;
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
  for (int pixel = 0; pixel < kQuad; ++pixel) {
    if (tap_of(window, pixel) < 0) continue;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (taps[i] == tap_of(window, pixel)) quad.gradient[pixel].values[i] += gradient.values[i];
    }
  }
}

template <class T, bool kTwo>
__device__ Quad<T> load_quad(const BatchNormBackward& norm, const Image& image,
                             const ChannelFactors<Pack<T>::kWidth>& factors, std::int64_t pooled,
                             std::int64_t channel) {
  const std::int64_t channels = norm.array.channels;
  const int plane = image.pooled_height * image.pooled_width;
  const std::int64_t row = pooled / plane;
  const int inside = static_cast<int>(pooled - row * plane);
  const int top = inside / image.pooled_width, left = inside % image.pooled_width;
  Quad<T> quad{};
#pragma unroll
  for (int window = 0; window < kQuad; ++window) {
    const int y = top + window / 2, x = left + window % 2;
    if (y >= image.pooled_height || x >= image.pooled_width) continue;
    const std::int64_t at = (row * plane + y * image.pooled_width + x) * channels + channel;
    add_window<T, kTwo>(norm, at, window, quad);
  }
#pragma unroll
  for (int pixel = 0; pixel < kQuad; ++pixel) {
    const int y = 2 * top + pixel / 2, x = 2 * left + pixel % 2;
    quad.at[pixel] = -1;
    if (y >= image.height || x >= image.width) continue;
    quad.at[pixel] = ((row * image.height + y) * image.width + x) * channels + channel;
    quad.normal[pixel] = Pack<T>::load(static_cast<const T*>(norm.x) + quad.at[pixel]);
#pragma unroll
    for (int i = 0; i < Pack<T>::kWidth; ++i) {
      float& gradient = quad.gradient[pixel].values[i];
      float& normal = quad.normal[pixel].values[i];
      const float centred = normal - factors.mean[i];
      // The very expression of the forward pass.
      const float value = fmaf(centred, factors.inverse[i] * factors.weight[i], factors.bias[i]);
      if (!(value > 0)) gradient = 0;
      normal = centred * factors.inverse[i];
    }
  }
  return quad;
}

__device__ inline Range pooled_range(const BatchNormBackward& norm, const Image& image,
                                     int worker) {
  WorkerArray pooled = norm.array;
  pooled.pixels = image.pooled_height * image.pooled_width;
  return range_of(pooled, worker, blockIdx.x, gridDim.x);
}

template <class T, int kLanes, bool kTwo>
__global__ void __launch_bounds__(kThreads)
    sum_pooled(const BatchNormBackward norm, const Image image) {
  using Shape = Tile<T, kLanes>;
  const Range range = pooled_range(norm, image, blockIdx.z);
  const std::int64_t channel = blockIdx.y * Shape::kChannels + threadIdx.x % kLanes * Shape::kPack;
  float sum[Shape::kPack] = {}, products[Shape::kPack] = {};
  if (channel < norm.array.channels && range.begin < range.end) {
    const auto factors = load_factors<Shape::kPack>(norm, blockIdx.z, channel);
    for (std::int64_t at = range.first + threadIdx.x / kLanes; at < range.last;
         at += Shape::kPositions) {
      const auto quad = load_quad<T, kTwo>(norm, image, factors, at, channel);
#pragma unroll
      for (int pixel = 0; pixel < kQuad; ++pixel) {
        if (quad.at[pixel] < 0) continue;
#pragma unroll
        for (int i = 0; i < Shape::kPack; ++i) {
          const float gradient = quad.gradient[pixel].values[i];
          sum[i] += gradient;
          products[i] = fmaf(gradient, quad.normal[pixel].values[i], products[i]);
        }
      }
    }
  }
  const std::int64_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  store_block_sums<T, kLanes>(sum, products, norm.scratch + block * 2 * Shape::kChannels);
}

template <class T, int kLanes, bool kTwo>
__global__ void __launch_bounds__(kThreads)
    apply_pooled_gradients(const BatchNormBackward norm, const Image image) {
  using Shape = Tile<T, kLanes>;
  constexpr int kOthers = kParameterBlocks<T, kLanes>;
  if (blockIdx.z < kOthers) {
    if (blockIdx.x == 0) add_up_parameters<T, kLanes>(norm, blockIdx.z);
    return;
  }
  constexpr int kColumns = 2 * Shape::kChannels;
  __shared__ float totals[kColumns];
  const int worker = blockIdx.z - kOthers;
  const Range range = pooled_range(norm, image, worker);
  if (range.begin == range.end) return;
  const std::int64_t tile = worker * gridDim.y + blockIdx.y;
  const float* const first = norm.scratch + tile * gridDim.x * kColumns;
  add_rows<kColumns>(
      gridDim.x, [&](int part) { return first + part * kColumns; }, totals);
  const int inside = threadIdx.x % kLanes * Shape::kPack;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + inside;
  if (channel >= norm.array.channels) return;
  const auto factors = load_factors<Shape::kPack>(norm, worker, channel);
  const float count =
      static_cast<float>((range.end - range.begin) / (image.pooled_height * image.pooled_width) *
                         (image.height * image.width));
  T* const grad_x = static_cast<T*>(norm.grad_x);
  for (std::int64_t at = range.first + threadIdx.x / kLanes; at < range.last;
       at += Shape::kPositions) {
    auto quad = load_quad<T, kTwo>(norm, image, factors, at, channel);
#pragma unroll
    for (int pixel = 0; pixel < kQuad; ++pixel) {
      if (quad.at[pixel] < 0) continue;
      Pack<T> out;
#pragma unroll
      for (int i = 0; i < Shape::kPack; ++i) {
        const float mean_gradient = totals[inside + i] / count;
        const float mean_product = totals[Shape::kChannels + inside + i] / count;
        out.values[i] = factors.weight[i] * factors.inverse[i] *
                        (quad.gradient[pixel].values[i] - mean_gradient -
                         quad.normal[pixel].values[i] * mean_product);
      }
      out.store(grad_x + quad.at[pixel]);
    }
  }
}

template <class T, int kLanes, bool kTwo>
void launch(const BatchNormBackward& norm, const Cut& cut, Stream stream) {
  const Pooling& pooling = norm.pooling;
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  const Image image{number(pooling.height), number(pooling.width), number(pooling.pooled_height()),
                    number(pooling.pooled_width())};
  const auto workers = static_cast<unsigned>(norm.array.workers);
  const dim3 grid(cut.splits, cut.tiles, workers);
  const dim3 with_parameters(cut.splits, cut.tiles, workers + kParameterBlocks<T, kLanes>);
  sum_pooled<T, kLanes, kTwo><<<grid, kThreads, 0, stream>>>(norm, image);
  check_launch("sum_pooled");
  apply_pooled_gradients<T, kLanes, kTwo><<<with_parameters, kThreads, 0, stream>>>(norm, image);
  check_launch("apply_pooled_gradients");
}

}  // namespace

void differentiate_pooled(const BatchNormBackward& norm, Stream stream) {
  const Cut shape = cut(norm.array);
  with_tile(norm.array.element, shape.lanes, [&](auto type, auto lanes) {
    using T = decltype(type);
    if (norm.grad_y_too != nullptr) {
      launch<T, lanes(), true>(norm, shape, stream);
    } else {
      launch<T, lanes(), false>(norm, shape, stream);
    }
  });
}

}  // namespace impart::cuda
