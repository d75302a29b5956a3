#pragma once

#include <cstdint>

namespace impart::kernels {

/// The tanh form of GELU (Hendrycks, Gimpel 2016) on the CPU, in single precision:
/// y = x σ(2 u), u = √(2/π) (x + 0.044715 x³), which is x (1 + tanh u) / 2. Elements are
/// independent.
void apply_gelu(const float* x, std::int64_t count, float* y);

/// grad_x = grad_y dy/dx.
void differentiate_gelu(const float* x, const float* grad_y, std::int64_t count, float* grad_x);

}  // namespace impart::kernels
