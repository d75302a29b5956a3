#include "impart/models/kernels/half_norm_kernel.h"

#include <algorithm>

namespace impart::kernels {
namespace {

/// What a loop does besides, known when it is compiled.
template <bool kFirst, bool kSecond>
struct Does {
  static constexpr bool first = kFirst, second = kSecond;
};

/// Calls function(Does<first, second>).
template <class Function>
IMPART_INLINE void choose(bool first, bool second, const Function& function) {
  if (first) {
    second ? function(Does<true, true>()) : function(Does<true, false>());
  } else {
    second ? function(Does<false, true>()) : function(Does<false, false>());
  }
}

/// g of the header's HalfNormBackward.
template <class Has>
IMPART_INLINE float gradient_at(Has, const HalfNormBackward& inputs, std::int64_t i) {
  float grad = widen(inputs.grad_y[i]);
  if constexpr (Has::second) grad += widen(inputs.grad_y_too[i]);
  if constexpr (Has::first) grad = widen(inputs.y[i]) > 0 ? grad : 0.0f;
  return grad;
}

}  // namespace

std::int64_t positions_per_part(std::int64_t channels) {
  constexpr std::int64_t kElements = 16384, kMost = 1024;
  return std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(channels, 1), 1, kMost);
}

IMPART_VECTOR_CLONES
void sum_positions(const HalfPositions& positions, const Half* __restrict x, float* __restrict sums,
                   float* __restrict squares) {
  const std::int64_t channels = positions.channels;
  std::fill_n(sums, channels, 0.0f);
  std::fill_n(squares, channels, 0.0f);
  for (std::int64_t position = 0; position < positions.count; ++position, x += channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = widen(x[c]);
      sums[c] += value;
      squares[c] += value * value;
    }
  }
}

IMPART_VECTOR_CLONES
void normalise_positions(const HalfPositions& positions, const HalfNorm& norm, Half* __restrict y) {
  const std::int64_t channels = positions.channels;
  const Half* __restrict const x = norm.x, * __restrict const residual = norm.residual;
  const float* __restrict const scale = norm.scale, * __restrict const shift = norm.shift;
  choose(
      norm.relu, residual != nullptr, [&](auto does) __attribute__((always_inline)) {
        for (std::int64_t position = 0; position < positions.count; ++position) {
          const std::int64_t at = position * channels;
          for (std::int64_t c = 0; c < channels; ++c) {
            float value = scale[c] * widen(x[at + c]) + shift[c];
            if constexpr (decltype(does)::second) value += widen(residual[at + c]);
            if constexpr (decltype(does)::first) value = value < 0 ? 0.0f : value;
            y[at + c] = narrow(value);
          }
        }
      });
}

IMPART_VECTOR_CLONES
void sum_half_gradients(const HalfPositions& positions, const HalfNormBackward& inputs,
                        float* __restrict grads, float* __restrict products) {
  const std::int64_t channels = positions.channels;
  std::fill_n(grads, channels, 0.0f);
  std::fill_n(products, channels, 0.0f);
  choose(
      inputs.y != nullptr,
      inputs.grad_y_too != nullptr, [&](auto has) __attribute__((always_inline)) {
        for (std::int64_t position = 0; position < positions.count; ++position) {
          const std::int64_t at = position * channels;
          for (std::int64_t c = 0; c < channels; ++c) {
            const float grad = gradient_at(has, inputs, at + c);
            grads[c] += grad;
            products[c] += grad * (widen(inputs.x[at + c]) - inputs.mean[c]);
          }
        }
      });
}

IMPART_VECTOR_CLONES
void write_half_gradients(const HalfPositions& positions, const HalfNormBackward& inputs,
                          const HalfGradient& by, Half* __restrict grad_x,
                          Half* __restrict grad_residual) {
  const std::int64_t channels = positions.channels;
  const float* __restrict const scale = by.scale, * __restrict const slope = by.slope;
  const float* __restrict const shift = by.shift, * __restrict const mean = inputs.mean;
  choose(
      inputs.y != nullptr,
      inputs.grad_y_too != nullptr, [&](auto has) __attribute__((always_inline)) {
        for (std::int64_t position = 0; position < positions.count; ++position) {
          const std::int64_t at = position * channels;
          for (std::int64_t c = 0; c < channels; ++c) {
            const float grad = gradient_at(has, inputs, at + c);
            const float distance = widen(inputs.x[at + c]) - mean[c];
            grad_x[at + c] = narrow(scale[c] * grad + slope[c] * distance + shift[c]);
          }
          if (grad_residual == nullptr) continue;
          for (std::int64_t c = 0; c < channels; ++c) {
            grad_residual[at + c] = narrow(gradient_at(has, inputs, at + c));
          }
        }
      });
}

}  // namespace impart::kernels
