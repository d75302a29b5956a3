#pragma once

#include <cstdint>

#include "impart/models/kernels/bfloat16.h"

namespace impart::kernels {

/// Batch norm on the CPU of bfloat16 images whose channels lie last, with what follows it:
///   y = relu(scale x + shift + residual), as far as wanted,
/// for some neighbouring positions, a position being all channels of one pixel. Arithmetic is in
/// single precision. An array is [positions, channels], and a pointer points to the first position.
///
/// Sums are float and so of few positions (positions_per_part): whoever needs more adds up parts,
/// in an order of their own, and thereby gets the same bits for any number of threads.
struct HalfPositions {
  std::int64_t count = 0;
  std::int64_t channels = 0;
};

/// How many positions a part has: enough to be worth a call, and few enough for sums in floats.
std::int64_t positions_per_part(std::int64_t channels);

/// Sums of x and x², one of each for every channel.
void sum_positions(const HalfPositions& positions, const Half* x, float* sums, float* squares);

struct HalfNorm {
  const Half* x;
  const Half* residual;  ///< null: none
  const float* scale;    ///< of every channel, as `shift`
  const float* shift;
  bool relu = false;
};
void normalise_positions(const HalfPositions& positions, const HalfNorm& norm, Half* y);

/// What the backward pass reads. The gradient by what batch norm itself gave is
///   g = (grad_y + grad_y_too) where y > 0, else 0.
struct HalfNormBackward {
  const Half* x;
  const Half* y;  ///< null: without relu, y > 0 is not asked for
  const Half* grad_y;
  const Half* grad_y_too;  ///< of a second use of y; null: none
  const float* mean;       ///< of every channel
};

/// Σ g and Σ g (x - mean), one of each for every channel.
void sum_half_gradients(const HalfPositions& positions, const HalfNormBackward& inputs,
                        float* grads, float* products);

/// Of every channel: grad_x = scale g + slope (x - mean) + shift.
struct HalfGradient {
  const float* scale;
  const float* slope;
  const float* shift;
};
/// `grad_residual` gets g; null: nobody asks.
void write_half_gradients(const HalfPositions& positions, const HalfNormBackward& inputs,
                          const HalfGradient& by, Half* grad_x, Half* grad_residual);

}  // namespace impart::kernels
