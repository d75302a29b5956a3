#include "impart/cuda/images.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

// As in impart/data/augment.h.
constexpr int kShiftBias = 128;

/// One thread per pixel of the batch.
template <class T>
__global__ void __launch_bounds__(kThreads) gather(const GatherImages g) {
  const std::int64_t plane = g.height * g.width;
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= g.rows * plane) return;
  const std::int64_t row = at / plane;
  const int inside = static_cast<int>(at - row * plane);
  const int width = static_cast<int>(g.width), height = static_cast<int>(g.height);
  const int y = inside / width, x = inside - y * width;
  const std::int64_t id = g.ids[(g.step != nullptr ? g.step->first_row : 0) + row];
  int from_y = y, from_x = x;
  if (g.choices != nullptr) {
    const std::int32_t choice = g.choices[id];
    from_y = y + (choice >> 8 & 255) - kShiftBias;
    from_x = ((choice >> 16 & 1) != 0 ? width - 1 - x : x) + (choice & 255) - kShiftBias;
  }
  const bool inside_image = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
  const std::uint8_t* const source = g.pixels + id * g.channels * plane + from_y * width + from_x;
  T* const out = static_cast<T*>(g.batch) + at * g.channels;
  for (int channel = 0; channel < static_cast<int>(g.channels); ++channel) {
    const float value = inside_image ? static_cast<float>(source[channel * plane]) : 0.f;
    out[channel] =
        from_float<T>(__fdiv_rn(__fdiv_rn(value, 255.f) - g.mean[channel], g.deviation[channel]));
  }
}

}  // namespace

void gather_images(const GatherImages& g, Stream stream) {
  const std::int64_t pixels = g.rows * g.height * g.width;
  if (pixels == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up(pixels, kThreads));
  with_type(g.element,
            [&](auto type) { gather<decltype(type)><<<blocks, kThreads, 0, stream>>>(g); });
  check_launch("gather_images");
}

}  // namespace impart::cuda
