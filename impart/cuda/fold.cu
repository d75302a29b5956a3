#include "impart/cuda/fold.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

constexpr int kKernel = 7, kFolded = kFoldedKernel, kWidth = kFoldedChannels;

/// One thread per folded pixel: up to four image pixels in, kWidth values out.
template <class T>
__global__ void __launch_bounds__(kThreads)
    fold_pixels(const T* __restrict__ images, T* __restrict__ folded, const int rows,
                const int height, const int width, const int channels) {
  const int out_height = height / 2 + kFolded - 1, out_width = width / 2 + kFolded - 1;
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= std::int64_t{rows} * out_height * out_width) return;
  const int row = static_cast<int>(at / (out_height * out_width));
  const int pixel = static_cast<int>(at - std::int64_t{row} * out_height * out_width);
  const int top = 2 * (pixel / out_width - 2), left = 2 * (pixel % out_width - 2);
  float values[kWidth] = {};
  // Height and width are even: the four pixels are inside together, or outside.
  if (top >= 0 && top < height && left >= 0 && left < width) {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const T* const source =
          images +
          ((std::int64_t{row} * height + top + part / 2) * width + left + part % 2) * channels;
#pragma unroll
      for (int c = 0; c < static_cast<int>(kMostFoldableChannels); ++c) {
        // Written so that all places in `values` are known when it is compiled.
#pragma unroll
        for (int place = part; place < kWidth; ++place) {
          if (c < channels && place == part * channels + c) values[place] = to_float(source[c]);
        }
      }
    }
  }
  constexpr int kPack = Pack<T>::kWidth;
#pragma unroll
  for (int i = 0; i < kWidth; i += kPack) {
    Pack<T> pack;
#pragma unroll
    for (int k = 0; k < kPack; ++k) pack.values[k] = values[i + k];
    pack.store(folded + at * kWidth + i);
  }
}

/// Which weight a folded one is: its index in [7, 7, channels], or -1 if it is none.
__device__ int unfolded_index(int folded, int channels) {
  const int place = folded % kWidth, tap = folded / kWidth;
  if (place >= 4 * channels) return -1;
  const int part = place / channels, channel = place % channels;
  const int y = 2 * (tap / kFolded) + part / 2 - 1, x = 2 * (tap % kFolded) + part % 2 - 1;
  return y < 0 || x < 0 ? -1 : (y * kKernel + x) * channels + channel;
}

/// One thread per folded weight.
template <class T, bool kBack>
__global__ void __launch_bounds__(kThreads)
    move_weights(T* __restrict__ weights, T* __restrict__ folded, const int count,
                 const int channels) {
  constexpr int kPerOutput = kFolded * kFolded * kWidth;
  const int at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= count * kPerOutput) return;
  const int output = at / kPerOutput, index = unfolded_index(at % kPerOutput, channels);
  const int place = output * kKernel * kKernel * channels + index;
  if constexpr (kBack) {
    if (index >= 0) weights[place] = folded[at];
  } else {
    folded[at] = index >= 0 ? weights[place] : from_float<T>(0.f);
  }
}

template <bool kBack>
void launch_weights(const FoldWeights& fold, Stream stream) {
  const auto blocks =
      static_cast<unsigned>(divide_up(fold.outputs * kFolded * kFolded * kWidth, kThreads));
  with_type(fold.element, [&](auto type) {
    using T = decltype(type);
    move_weights<T, kBack><<<blocks, kThreads, 0, stream>>>(
        static_cast<T*>(fold.weights), static_cast<T*>(fold.folded), static_cast<int>(fold.outputs),
        static_cast<int>(fold.channels));
  });
  check_launch("fold_weights");
}

}  // namespace

void fold_images(const FoldImages& fold, Stream stream) {
  const std::int64_t pixels = fold.rows * (fold.height / 2 + 3) * (fold.width / 2 + 3);
  if (pixels == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up(pixels, kThreads));
  with_type(fold.element, [&](auto type) {
    using T = decltype(type);
    fold_pixels<T><<<blocks, kThreads, 0, stream>>>(
        static_cast<const T*>(fold.images), static_cast<T*>(fold.folded),
        static_cast<int>(fold.rows), static_cast<int>(fold.height), static_cast<int>(fold.width),
        static_cast<int>(fold.channels));
  });
  check_launch("fold_images");
}

void fold_weights(const FoldWeights& fold, Stream stream) {
  launch_weights<false>(fold, stream);
}

void unfold_weights(const FoldWeights& fold, Stream stream) {
  launch_weights<true>(fold, stream);
}

}  // namespace impart::cuda
