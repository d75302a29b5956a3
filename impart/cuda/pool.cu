#include "impart/cuda/kernel_parts.h"
#include "impart/cuda/pool.h"

namespace impart::cuda {
namespace {

/// The numbers of a PoolShape that kernels divide by, in 32 bits.
struct Windows {
  std::int64_t packs = 0;  ///< of y: pooled pixels × packs of channels
  int lanes = 0;           ///< packs of a pixel
  int height = 0, width = 0, pooled_height = 0, pooled_width = 0, window = 0;
};

Windows windows_of(const PoolShape& shape) {
  const std::int64_t lanes = shape.channels / (shape.element == Element::kFloat ? 4 : 8);
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  return {.packs = shape.rows * shape.pooled_height() * shape.pooled_width() * lanes,
          .lanes = number(lanes),
          .height = number(shape.height),
          .width = number(shape.width),
          .pooled_height = number(shape.pooled_height()),
          .pooled_width = number(shape.pooled_width()),
          .window = shape.window};
}

/// Where in x the window of a pack of y begins, counted in packs.
__device__ std::int64_t corner_of(const Windows& w, std::int64_t pack) {
  const std::int64_t pixel = pack / w.lanes;
  const int lane = static_cast<int>(pack - pixel * w.lanes);
  const std::int64_t line = pixel / w.pooled_width;  // of all rows' pooled lines
  const int left = static_cast<int>(pixel - line * w.pooled_width) * w.window;
  const std::int64_t row = line / w.pooled_height;
  const int top = static_cast<int>(line - row * w.pooled_height) * w.window;
  return ((row * w.height + top) * w.width + left) * w.lanes + lane;
}

/// A byte for each element of a pack, as one word.
template <int kWidth>
struct Taps {
  using Word = std::conditional_t<kWidth == 8, uint2, std::uint32_t>;
  alignas(8) std::uint8_t values[kWidth];

  __device__ static Taps load(const std::uint8_t* from) {
    Taps taps;
    *reinterpret_cast<Word*>(taps.values) = *reinterpret_cast<const Word*>(from);
    return taps;
  }
  __device__ void store(std::uint8_t* to) const {
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(values);
  }
};

/// `kWindow` is the window's side, or 0: known only now. One thread per pack of y.
template <class T, int kWindow>
__global__ void __launch_bounds__(kThreads)
    pool(const T* __restrict__ x, T* __restrict__ y, std::uint8_t* __restrict__ taps,
         const Windows windows) {
  constexpr int kPack = Pack<T>::kWidth;
  const int side = kWindow > 0 ? kWindow : windows.window;
  const std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pack >= windows.packs) return;
  const T* const corner = x + corner_of(windows, pack) * kPack;
  Pack<T> best = Pack<T>::load(corner);
  Taps<kPack> where{};
#pragma unroll
  for (int tap = 1; tap < side * side; ++tap) {
    const int offset = (tap / side * windows.width + tap % side) * windows.lanes;
    const Pack<T> other = Pack<T>::load(corner + std::int64_t{offset} * kPack);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float value = other.values[i];
      if (value > best.values[i] || value != value) {
        best.values[i] = value;
        where.values[i] = static_cast<std::uint8_t>(tap);
      }
    }
  }
  best.store(y + pack * kPack);
  where.store(taps + pack * kPack);
}

template <class T, int kWindow>
__global__ void __launch_bounds__(kThreads)
    unpool(const T* __restrict__ grad_y, const std::uint8_t* __restrict__ taps,
           T* __restrict__ grad_x, const Windows windows) {
  constexpr int kPack = Pack<T>::kWidth;
  const int side = kWindow > 0 ? kWindow : windows.window;
  const std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pack >= windows.packs) return;
  T* const corner = grad_x + corner_of(windows, pack) * kPack;
  const Pack<T> gradient = Pack<T>::load(grad_y + pack * kPack);
  const auto where = Taps<kPack>::load(taps + pack * kPack);
#pragma unroll
  for (int tap = 0; tap < side * side; ++tap) {
    Pack<T> out;
#pragma unroll
    for (int i = 0; i < kPack; ++i) out.values[i] = where.values[i] == tap ? gradient.values[i] : 0;
    const int offset = (tap / side * windows.width + tap % side) * windows.lanes;
    out.store(corner + std::int64_t{offset} * kPack);
  }
}

/// Calls function(T{}, std::integral_constant<int, window>{}).
template <class Function>
void with_window(const PoolShape& shape, Function&& function) {
  with_type(shape.element, [&](auto type) {
    if (shape.window == 2) {
      function(type, std::integral_constant<int, 2>{});
    } else {
      function(type, std::integral_constant<int, 0>{});
    }
  });
}

}  // namespace

void max_pool(const MaxPool& call, Stream stream) {
  const Windows windows = windows_of(call.shape);
  if (windows.packs == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up(windows.packs, kThreads));
  with_window(call.shape, [&](auto type, auto window) {
    using T = decltype(type);
    pool<T, window()><<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(call.x),
                                                       static_cast<T*>(call.y), call.taps, windows);
  });
  check_launch("max_pool");
}

void max_pool_backward(const MaxPoolBackward& call, Stream stream) {
  const Windows windows = windows_of(call.shape);
  if (windows.packs == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up(windows.packs, kThreads));
  with_window(call.shape, [&](auto type, auto window) {
    using T = decltype(type);
    unpool<T, window()><<<blocks, kThreads, 0, stream>>>(
        static_cast<const T*>(call.grad_y), call.taps, static_cast<T*>(call.grad_x), windows);
  });
  check_launch("max_pool_backward");
}

}  // namespace impart::cuda
