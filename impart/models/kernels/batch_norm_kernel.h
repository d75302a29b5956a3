#pragma once

#include <cstdint>

namespace impart::kernels {

/// Batch norm of one worker's rows and a few neighbouring channels on the CPU, in single precision
/// with sums in double. The array is [rows of all workers, channels, pixels], contiguous.
///
/// Every element is computed on its own and every sum is taken in a fixed order, column by column,
/// so the results are the same bits for any number of threads and any vector width.
struct BatchNormStrip {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;  ///< of this worker
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;    ///< in this strip, at most channels_per_strip(pixels)
  std::int64_t pixels = 1;      ///< height × width
  std::int64_t row_stride = 0;  ///< elements from a row to the next: all channels × pixels
};

/// How many channels a strip should have: one if the images are large, else so many that the
/// strip's rows are long enough for vector code.
std::int64_t channels_per_strip(std::int64_t pixels);

/// Means and biased variances, `strip.channels` of them. The strip must have rows.
struct BatchNormMoments {
  float* mean;
  float* variance;
};

/// Measures the moments of x and writes y = (x - mean) / sqrt(variance + epsilon) * weight + bias.
/// x and y point to the whole array; weight, bias and the moments to the strip's first channel.
void normalise_strip(const BatchNormStrip& strip, const float* x, const float* weight,
                     const float* bias, double epsilon, BatchNormMoments moments, float* y);

/// The same in two parts, for statistics that others have a share in: the strip's sums of x and x²,
/// `strip.channels` of each; and y with given moments.
void sum_strip(const BatchNormStrip& strip, const float* x, double* sums, double* squares);
void apply_moments(const BatchNormStrip& strip, const float* x, const float* weight,
                   const float* bias, double epsilon, BatchNormMoments moments, float* y);

/// What the backward pass of a strip reads; the pointers are as in normalise_strip.
struct StripBackward {
  const float* x;
  const float* grad_y;
  const float* weight;
  const float* mean;
  const float* variance;
  double epsilon;
};

/// Sums over values of a channel that the gradient by x needs, one for each of the strip's
/// channels.
struct GradientSums {
  double* grads;     ///< Σ grad_y
  double* products;  ///< Σ grad_y (x - mean)
};

/// The backward pass in two parts: the strip's sums; and the gradient by x with the sums of all
/// `count` values that share the statistics.
void sum_gradients(const BatchNormStrip& strip, const StripBackward& inputs, GradientSums sums);
void apply_gradients(const BatchNormStrip& strip, const StripBackward& inputs, GradientSums sums,
                     double count, float* grad_x);

/// 1 / sqrt(variance + epsilon)
double inverse_deviation(float variance, double epsilon);

/// Writes the gradient of the loss by x, and this worker's share of those by weight and bias.
void differentiate_strip(const BatchNormStrip& strip, const StripBackward& inputs, float* grad_x,
                         float* grad_weight, float* grad_bias);

}  // namespace impart::kernels
