#include "impart/cuda/fold.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

constexpr int kKernel = 7, kFolded = kFoldedKernel, kWidth = kFoldedChannels;
/// Shared memory that a block has without asking for more.
constexpr std::int64_t kMostBytes = 48 * 1024;

/// One block per image: it goes through shared memory, so that whole lines are read and written.
template <class T>
__global__ void __launch_bounds__(kThreads)
    fold_pixels(const T* __restrict__ images, T* __restrict__ folded, const int height,
                const int width, const int channels) {
  extern __shared__ uint4 line[];
  T* const image = reinterpret_cast<T*>(line);
  const int size = height * width * channels;
  const T* const from = images + std::int64_t{blockIdx.x} * size;
  constexpr int kPack = Pack<T>::kWidth;
  const bool whole = size % kPack == 0 && reinterpret_cast<std::uintptr_t>(images) % 16 == 0;
  for (int i = threadIdx.x * kPack; whole && i < size; i += kThreads * kPack) {
    line[i / kPack] = *reinterpret_cast<const uint4*>(from + i);
  }
  for (int i = threadIdx.x; !whole && i < size; i += kThreads) image[i] = from[i];
  __syncthreads();
  const int out_height = height / 2 + kFolded - 1, out_width = width / 2 + kFolded - 1;
  const int packs = out_height * out_width * kWidth / kPack;
  T* const to = folded + std::int64_t{blockIdx.x} * packs * kPack;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const int pixel = i / (kWidth / kPack), first = i % (kWidth / kPack) * kPack;
    const int top = 2 * (pixel / out_width - 2), left = 2 * (pixel % out_width - 2);
    // Height and width are even: the four pixels are inside together, or outside.
    const bool inside = top >= 0 && top < height && left >= 0 && left < width;
    Pack<T> pack;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const int place = first + k, part = place / channels, channel = place % channels;
      const int at = ((top + part / 2) * width + left + part % 2) * channels + channel;
      pack.values[k] = inside && part < 4 ? to_float(image[at]) : 0.f;
    }
    pack.store(to + i * kPack);
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

bool can_fold(std::int64_t height, std::int64_t width, std::int64_t channels, Element element) {
  const std::int64_t bytes = height * width * channels * (element == Element::kFloat ? 4 : 2);
  return height % 2 == 0 && width % 2 == 0 && channels <= kMostFoldableChannels &&
         bytes <= kMostBytes;
}

void fold_images(const FoldImages& fold, Stream stream) {
  if (fold.rows == 0) return;
  with_type(fold.element, [&](auto type) {
    using T = decltype(type);
    const auto bytes =
        static_cast<std::size_t>(fold.height * fold.width * fold.channels) * sizeof(T);
    fold_pixels<T><<<static_cast<unsigned>(fold.rows), kThreads, bytes, stream>>>(
        static_cast<const T*>(fold.images), static_cast<T*>(fold.folded),
        static_cast<int>(fold.height), static_cast<int>(fold.width),
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
