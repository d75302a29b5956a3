#pragma once

#include <torch/types.h>

namespace impart::models {

/// The tanh form of GELU, as GPT-2 has it. Floats on the CPU: a kernel of our own (gelu_kernel.h),
/// differentiable once; elsewhere torch's.
torch::Tensor tanh_gelu(const torch::Tensor& x);

}  // namespace impart::models
