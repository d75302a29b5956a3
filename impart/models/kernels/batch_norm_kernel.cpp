#include "impart/models/kernels/batch_norm_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "impart/core/vector_clones.h"

namespace impart::kernels {
namespace {

// The columns of a strip are its channels' pixels. Sums are kept per column, and at most so many
// columns are kept: a longer plane, which is one channel, is folded onto the first kColumns.
constexpr std::int64_t kColumns = 1024;

template <class T>
using Columns = std::array<T, kColumns>;

IMPART_VECTOR_CLONES
void add_values(const float* __restrict x, std::int64_t length, double* __restrict sums) {
  for (std::int64_t j = 0; j < length; ++j) sums[j] += double{x[j]};
}

IMPART_VECTOR_CLONES
void add_powers(const float* __restrict x, std::int64_t length, double* __restrict sums,
                double* __restrict squares) {
  for (std::int64_t j = 0; j < length; ++j) {
    const double value = double{x[j]};
    sums[j] += value;
    squares[j] += value * value;
  }
}

IMPART_VECTOR_CLONES
void add_squares(const float* __restrict x, const double* __restrict mean, std::int64_t length,
                 double* __restrict sums) {
  for (std::int64_t j = 0; j < length; ++j) {
    const double distance = double{x[j]} - mean[j];
    sums[j] += distance * distance;
  }
}

IMPART_VECTOR_CLONES
void write_normalised(const float* __restrict x, const float* __restrict mean,
                      const float* __restrict scale, const float* __restrict shift,
                      std::int64_t length, float* __restrict y) {
  for (std::int64_t j = 0; j < length; ++j) y[j] = (x[j] - mean[j]) * scale[j] + shift[j];
}

IMPART_VECTOR_CLONES
void add_gradients(const float* __restrict x, const float* __restrict grad_y,
                   const float* __restrict mean, std::int64_t length, double* __restrict grad_sums,
                   double* __restrict product_sums) {
  for (std::int64_t j = 0; j < length; ++j) {
    const double grad = double{grad_y[j]};
    grad_sums[j] += grad;
    product_sums[j] += grad * double{x[j] - mean[j]};
  }
}

/// Per column, what makes grad_x = scale grad_y + slope (x - mean) + shift.
struct GradientColumns {
  Columns<float> mean, scale, slope, shift;
};

IMPART_VECTOR_CLONES
void write_gradient(const float* __restrict x, const float* __restrict grad_y,
                    const GradientColumns& columns, std::int64_t length, float* __restrict grad_x) {
  for (std::int64_t j = 0; j < length; ++j) {
    grad_x[j] = columns.scale[j] * grad_y[j] + columns.slope[j] * (x[j] - columns.mean[j]) +
                columns.shift[j];
  }
}

/// Calls function(offset, length) for every run of elements that lie in columns 0..length-1.
template <class Function>
void for_each_run(const BatchNormStrip& strip, Function&& function) {
  const std::int64_t row_length = strip.channels * strip.pixels;
  for (std::int64_t row = 0; row < strip.rows; ++row) {
    const std::int64_t start =
        (strip.first_row + row) * strip.row_stride + strip.first_channel * strip.pixels;
    for (std::int64_t column = 0; column < row_length; column += kColumns) {
      function(start + column, std::min(kColumns, row_length - column));
    }
  }
}

/// The part of the columns that belongs to a channel.
template <class T>
std::span<T> columns_of(const BatchNormStrip& strip, Columns<T>& columns, std::int64_t channel) {
  const std::int64_t width = std::min(strip.pixels, kColumns);
  return std::span(columns).subspan(channel * width, width);
}

void clear(const BatchNormStrip& strip, Columns<double>& sums) {
  std::fill_n(sums.begin(), std::min(strip.channels * strip.pixels, kColumns), 0.0);
}

double sum_of(std::span<const double> columns) {
  double sum = 0;
  for (const double column : columns) sum += column;
  return sum;
}

void measure(const BatchNormStrip& strip, const float* x, BatchNormMoments moments) {
  const double count = static_cast<double>(strip.rows * strip.pixels);
  Columns<double> sums, means;
  clear(strip, sums);
  for_each_run(strip, [&](std::int64_t offset, std::int64_t length) {
    add_values(x + offset, length, sums.data());
  });
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    const double mean = sum_of(columns_of(strip, sums, channel)) / count;
    std::ranges::fill(columns_of(strip, means, channel), mean);
    moments.mean[channel] = static_cast<float>(mean);
  }
  clear(strip, sums);
  for_each_run(strip, [&](std::int64_t offset, std::int64_t length) {
    add_squares(x + offset, means.data(), length, sums.data());
  });
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    const double variance = sum_of(columns_of(strip, sums, channel)) / count;
    moments.variance[channel] = static_cast<float>(variance);
  }
}

}  // namespace

double inverse_deviation(float variance, double epsilon) {
  return 1.0 / std::sqrt(double{variance} + epsilon);
}

std::int64_t channels_per_strip(std::int64_t pixels) {
  constexpr std::int64_t kLongEnough = 256;
  return std::max<std::int64_t>(1, kLongEnough / std::max<std::int64_t>(pixels, 1));
}

void normalise_strip(const BatchNormStrip& strip, const float* x, const float* weight,
                     const float* bias, double epsilon, BatchNormMoments moments, float* y) {
  measure(strip, x, moments);
  apply_moments(strip, x, weight, bias, epsilon, moments, y);
}

void sum_strip(const BatchNormStrip& strip, const float* x, double* sums, double* squares) {
  Columns<double> sum_columns, square_columns;
  clear(strip, sum_columns);
  clear(strip, square_columns);
  for_each_run(strip, [&](std::int64_t offset, std::int64_t length) {
    add_powers(x + offset, length, sum_columns.data(), square_columns.data());
  });
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    sums[channel] = sum_of(columns_of(strip, sum_columns, channel));
    squares[channel] = sum_of(columns_of(strip, square_columns, channel));
  }
}

void apply_moments(const BatchNormStrip& strip, const float* x, const float* weight,
                   const float* bias, double epsilon, BatchNormMoments moments, float* y) {
  Columns<float> mean, scale, shift;
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    const double s = inverse_deviation(moments.variance[channel], epsilon);
    std::ranges::fill(columns_of(strip, mean, channel), moments.mean[channel]);
    std::ranges::fill(columns_of(strip, scale, channel), static_cast<float>(weight[channel] * s));
    std::ranges::fill(columns_of(strip, shift, channel), bias[channel]);
  }
  for_each_run(strip, [&](std::int64_t offset, std::int64_t length) {
    write_normalised(x + offset, mean.data(), scale.data(), shift.data(), length, y + offset);
  });
}

void sum_gradients(const BatchNormStrip& strip, const StripBackward& inputs, GradientSums sums) {
  Columns<float> mean;
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    std::ranges::fill(columns_of(strip, mean, channel), inputs.mean[channel]);
  }
  Columns<double> grad_sums, product_sums;
  clear(strip, grad_sums);
  clear(strip, product_sums);
  for_each_run(strip, [&](std::int64_t offset, std::int64_t length) {
    add_gradients(inputs.x + offset, inputs.grad_y + offset, mean.data(), length, grad_sums.data(),
                  product_sums.data());
  });
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    sums.grads[channel] = sum_of(columns_of(strip, grad_sums, channel));
    sums.products[channel] = sum_of(columns_of(strip, product_sums, channel));
  }
}

void apply_gradients(const BatchNormStrip& strip, const StripBackward& inputs, GradientSums sums,
                     double count, float* grad_x) {
  // With s = 1 / sqrt(variance + epsilon) and averages over the values that share it,
  //   grad_x = weight s (grad_y - average(grad_y) - (x - mean) s² average(grad_y (x - mean))).
  GradientColumns columns;
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    const double s = inverse_deviation(inputs.variance[channel], inputs.epsilon);
    const double scale = inputs.weight[channel] * s;
    const auto fill = [&](Columns<float>& column, double value) {
      std::ranges::fill(columns_of(strip, column, channel), static_cast<float>(value));
    };
    fill(columns.mean, inputs.mean[channel]);
    fill(columns.scale, scale);
    fill(columns.slope, -scale * s * s * sums.products[channel] / count);
    fill(columns.shift, -scale * sums.grads[channel] / count);
  }
  for_each_run(strip, [&](std::int64_t offset, std::int64_t length) {
    write_gradient(inputs.x + offset, inputs.grad_y + offset, columns, length, grad_x + offset);
  });
}

void differentiate_strip(const BatchNormStrip& strip, const StripBackward& inputs, float* grad_x,
                         float* grad_weight, float* grad_bias) {
  Columns<double> grads, products;  // there are at most as many channels as columns
  const GradientSums sums{grads.data(), products.data()};
  sum_gradients(strip, inputs, sums);
  for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
    const double s = inverse_deviation(inputs.variance[channel], inputs.epsilon);
    grad_bias[channel] = static_cast<float>(grads[channel]);
    grad_weight[channel] = static_cast<float>(products[channel] * s);
  }
  apply_gradients(strip, inputs, sums, static_cast<double>(strip.rows * strip.pixels), grad_x);
}

}  // namespace impart::kernels
