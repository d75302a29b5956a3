#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

#include "impart/core/safetensors.h"

namespace impart::tensors {

/// Between torch's tensors and those of a safetensors file.

/// Error for types that the format does not have, such as complex numbers.
ElementType element_type(const torch::Tensor& tensor);
std::vector<std::uint64_t> shape_of(const torch::Tensor& tensor);

/// A view of a contiguous tensor on the CPU, which must outlive it.
TensorView view_of(std::string name, const torch::Tensor& tensor);

/// A tensor of its own, on the CPU. ConfigError for types that torch does not have, such as U32.
torch::Tensor copy_of(const TensorView& view);

}  // namespace impart::tensors
