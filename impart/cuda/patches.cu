#include "impart/cuda/kernel_parts.h"
#include "impart/cuda/patches.h"

namespace impart::cuda {
namespace {

constexpr int kSide = 3;
constexpr int kChannels = 3;
constexpr int kTaps = kSide * kSide * kChannels;
constexpr int kPaddedTaps = 28;  ///< of a filter in shared memory: whole float4
/// Shared memory that a block has without asking for more.
constexpr std::int64_t kMostRoom = 48 * 1024;

std::int64_t shared_bytes(const FilterPatches& call) {
  const std::int64_t image = (call.height + 2) * (call.width + 2) * kChannels;
  return static_cast<std::int64_t>(sizeof(float)) *
         (call.count * kPaddedTaps + divide_up(image, 4) * 4);
}

/// The image with its border and the filters, as floats. Ends with a barrier.
template <class T>
__device__ void load_image(const FilterPatches& call, float* filters, float* image) {
  const int width = static_cast<int>(call.width), height = static_cast<int>(call.height);
  const int line = (width + 2) * kChannels;
  for (int i = threadIdx.x; i < call.count * kPaddedTaps; i += kThreads) {
    const int filter = i / kPaddedTaps, tap = i % kPaddedTaps;
    filters[i] = tap < kTaps ? call.filters[filter * kTaps + tap] : 0.f;
  }
  const T* const from =
      static_cast<const T*>(call.images) + std::int64_t{blockIdx.x} * height * width * kChannels;
  for (int i = threadIdx.x; i < (height + 2) * line; i += kThreads) {
    const int y = i / line - 1, place = i % line - kChannels;
    const bool inside = y >= 0 && y < height && place >= 0 && place < width * kChannels;
    image[i] = inside ? to_float(from[y * width * kChannels + place]) : 0.f;
  }
  __syncthreads();
}

/// One block per image, one thread per pixel at a time.
template <class T>
__global__ void __launch_bounds__(kThreads) filter(const FilterPatches call) {
  extern __shared__ float4 room[];
  constexpr int kFilters = Pack<T>::kWidth / 2;  // of a pack: each gives two values
  float* const filters = reinterpret_cast<float*>(room);
  float* const image = filters + call.count * kPaddedTaps;
  load_image<T>(call, filters, image);
  const int width = static_cast<int>(call.width), pixels = static_cast<int>(call.height) * width;
  const int line = (width + 2) * kChannels, count = static_cast<int>(call.count);
  T* const out = static_cast<T*>(call.responses) + std::int64_t{blockIdx.x} * pixels * 2 * count;
  for (int pixel = threadIdx.x; pixel < pixels; pixel += kThreads) {
    const float* const corner = image + pixel / width * line + pixel % width * kChannels;
    float values[kPaddedTaps] = {};
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      values[tap] = corner[tap / (kSide * kChannels) * line + tap % (kSide * kChannels)];
    }
    for (int first = 0; first < count; first += kFilters) {
      Pack<T> pack;
#pragma unroll
      for (int k = 0; k < kFilters; ++k) {
        const float4* const weights =
            reinterpret_cast<const float4*>(filters + (first + k) * kPaddedTaps);
        float sum = 0;
#pragma unroll
        for (int i = 0; i < kPaddedTaps / 4; ++i) {
          const float4 weight = weights[i];
          sum = fmaf(weight.x, values[4 * i], sum);
          sum = fmaf(weight.y, values[4 * i + 1], sum);
          sum = fmaf(weight.z, values[4 * i + 2], sum);
          sum = fmaf(weight.w, values[4 * i + 3], sum);
        }
        pack.values[2 * k] = fmaxf(sum, 0.f);
        pack.values[2 * k + 1] = fmaxf(-sum, 0.f);
      }
      pack.store(out + std::int64_t{pixel} * 2 * count + 2 * first);
    }
  }
}

}  // namespace

bool can_filter_patches(const FilterPatches& call) {
  return call.channels == kChannels && call.count % 4 == 0 && shared_bytes(call) <= kMostRoom;
}

void filter_patches(const FilterPatches& call, Stream stream) {
  if (call.rows == 0) return;
  const auto bytes = static_cast<std::size_t>(shared_bytes(call));
  with_type(call.element, [&](auto type) {
    filter<decltype(type)><<<static_cast<unsigned>(call.rows), kThreads, bytes, stream>>>(call);
  });
  check_launch("filter_patches");
}

}  // namespace impart::cuda
