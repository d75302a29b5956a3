#pragma once

#include <cstddef>
#include <cstdint>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// Rows of a residual trunk that are normalised each for itself.
struct NormRows {
  std::int64_t rows = 0, width = 0;
  Element element = Element::kFloat;  ///< of all arrays that are not float by their type
};

/// Whether the kernels take rows of this width.
bool can_norm_rows(const NormRows& rows);

/// sum = trunk + branch, rounded; output = (sum - mean) · deviation · weight + bias, by rows.
struct AddAndNorm {
  NormRows rows = {};
  const void* trunk = nullptr;   ///< [rows, width], as the other arrays but the last four
  const void* branch = nullptr;  ///< null: nothing is added, and no sum is written
  void* sum = nullptr;
  void* output = nullptr;
  const void *weight = nullptr, *bias = nullptr;  ///< [width]
  float* mean = nullptr;                          ///< [rows], for the way back, as the next
  float* deviation = nullptr;                     ///< 1 / √(variance + epsilon)
  float epsilon = 0;
};
void add_and_norm(const AddAndNorm& norm, Stream stream);

/// The way back: the gradient by trunk and branch alike, which are only added.
struct AddAndNormBackward {
  NormRows rows = {};
  const void* sum = nullptr;          ///< as it was written, or the trunk
  const void* grad_output = nullptr;  ///< [rows, width]
  const void* grad_sum = nullptr;     ///< what else became of the sum; null: nothing
  const void* weight = nullptr;
  const float *mean = nullptr, *deviation = nullptr;
  void* grad_input = nullptr;
  void *grad_weight = nullptr, *grad_bias = nullptr;  ///< [width]
  float* scratch = nullptr;                           ///< norm_scratch() floats
};
std::size_t norm_scratch(const NormRows& rows);
void add_and_norm_backward(const AddAndNormBackward& norm, Stream stream);

}  // namespace impart::cuda
