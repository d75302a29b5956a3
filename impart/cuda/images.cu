#include "impart/cuda/images.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

// As in impart/data/images/augment.h.
constexpr int kShiftBias = 128;
constexpr int kValues = 256;
constexpr int kTabulated = 4;  ///< most channels whose values are looked up in a table
constexpr int kPixels = 4;     ///< of a thread, side by side

__device__ float normalise(float value, float mean, float deviation) {
  return __fdiv_rn(__fdiv_rn(value, 255.f) - mean, deviation);
}

/// What every value of every channel becomes. Ends with a barrier.
template <class T>
__device__ void tabulate(const GatherImages& g, T (&table)[kTabulated][kValues]) {
  for (int i = threadIdx.x; i < g.channels * kValues; i += kThreads) {
    const int channel = i / kValues, value = i % kValues;
    table[channel][value] =
        from_float<T>(normalise(static_cast<float>(value), g.mean[channel], g.deviation[channel]));
  }
  __syncthreads();
}

/// Where the pixels of a row of the batch come from.
struct Source {
  const std::uint8_t* image;
  int down, right;
  bool mirrored;
};

__device__ Source find_source(const GatherImages& g, std::int64_t row) {
  const std::int64_t id = g.ids[(g.step != nullptr ? g.step->first_row : 0) + row];
  Source source{g.pixels + id * g.channels * g.height * g.width, 0, 0, false};
  if (g.choices != nullptr) {
    const std::int32_t choice = g.choices[id];
    source.right = (choice & 255) - kShiftBias;
    source.down = (choice >> 8 & 255) - kShiftBias;
    source.mirrored = (choice >> 16 & 1) != 0;
  }
  return source;
}

/// One block in x per part of an image, one in y per image. A thread takes kPixels neighbours.
template <class T, bool kTable>
__global__ void __launch_bounds__(kThreads) gather(const GatherImages g) {
  __shared__ T table[kTabulated][kValues];
  if constexpr (kTable) tabulate(g, table);
  const int width = static_cast<int>(g.width), height = static_cast<int>(g.height);
  const int channels = static_cast<int>(g.channels), plane = height * width;
  const Source source = find_source(g, blockIdx.y);
  const int first = (blockIdx.x * kThreads + threadIdx.x) * kPixels;
  T* const out = static_cast<T*>(g.batch) + std::int64_t{blockIdx.y} * plane * channels;
  for (int pixel = first; pixel < first + kPixels && pixel < plane; ++pixel) {
    const int y = pixel / width, x = pixel % width;
    const int from_y = y + source.down;
    const int from_x = (source.mirrored ? width - 1 - x : x) + source.right;
    const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
    const std::uint8_t* const from = source.image + from_y * width + from_x;
    for (int channel = 0; channel < channels; ++channel) {
      const int value = inside ? from[channel * plane] : 0;
      if constexpr (kTable) {
        out[pixel * channels + channel] = table[channel][value];
      } else {
        out[pixel * channels + channel] = from_float<T>(
            normalise(static_cast<float>(value), g.mean[channel], g.deviation[channel]));
      }
    }
  }
}

/// The same for three channels and a width in whole kPixels: a thread's values leave together.
template <class T>
__global__ void __launch_bounds__(kThreads) gather_colours(const GatherImages g) {
  constexpr int kChannels = 3, kCount = kChannels * kPixels;
  __shared__ T table[kTabulated][kValues];
  tabulate(g, table);
  const int width = static_cast<int>(g.width), height = static_cast<int>(g.height);
  const int plane = height * width;
  const Source source = find_source(g, blockIdx.y);
  const int first = (blockIdx.x * kThreads + threadIdx.x) * kPixels;
  if (first >= plane) return;
  const int from_y = first / width + source.down, x = first % width;
  const bool row_inside = from_y >= 0 && from_y < height;
  alignas(16) T values[kCount];
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const int from_x = (source.mirrored ? width - 1 - x - i : x + i) + source.right;
    const bool inside = row_inside && from_x >= 0 && from_x < width;
    const std::uint8_t* const from = source.image + from_y * width + from_x;
#pragma unroll
    for (int channel = 0; channel < kChannels; ++channel) {
      const int value = inside ? from[channel * plane] : 0;
      values[i * kChannels + channel] = table[channel][value];
    }
  }
  T* const out = static_cast<T*>(g.batch) + (std::int64_t{blockIdx.y} * plane + first) * kChannels;
  constexpr int kPack = 8 / sizeof(T);
#pragma unroll
  for (int i = 0; i < kCount; i += kPack) {
    *reinterpret_cast<uint2*>(out + i) = *reinterpret_cast<const uint2*>(values + i);
  }
}

}  // namespace

void gather_images(const GatherImages& g, Stream stream) {
  const std::int64_t pixels = g.height * g.width;
  if (g.rows * pixels == 0) return;
  // The grid has at most 65535 blocks in y.
  constexpr std::int64_t kMostRows = 65535;
  if (g.rows > kMostRows) {
    throw Error("gather_images: more than 65535 rows");
  }
  const dim3 grid(static_cast<unsigned>(divide_up(pixels, kThreads * kPixels)),
                  static_cast<unsigned>(g.rows));
  with_type(g.element, [&](auto type) {
    using T = decltype(type);
    if (g.channels == 3 && g.width % kPixels == 0) {
      gather_colours<T><<<grid, kThreads, 0, stream>>>(g);
    } else if (g.channels <= kTabulated) {
      gather<T, true><<<grid, kThreads, 0, stream>>>(g);
    } else {
      gather<T, false><<<grid, kThreads, 0, stream>>>(g);
    }
  });
  check_launch("gather_images");
}

}  // namespace impart::cuda
