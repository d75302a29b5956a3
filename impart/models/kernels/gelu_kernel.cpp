#include "impart/models/kernels/gelu_kernel.h"

#include <algorithm>

#include "impart/core/vector_clones.h"
#include "impart/core/vector_floats.h"

namespace impart::kernels {
namespace {

constexpr float kTwiceRoot = 1.59576912160573f;  ///< 2 √(2/π)
constexpr float kCube = 0.044715f;

/// s := σ(2 u(x)), without overflow for any x.
IMPART_INLINE void gate_of(const Floats& x, Floats& s) {
  const Floats twice_u = kTwiceRoot * (x + kCube * x * x * x);
  const SignedWords negative = twice_u < 0;
  Floats small = negative ? twice_u : -twice_u;
  exponentiate(small);
  s = (negative ? small : Floats{} + 1.0f) / (1.0f + small);
}

IMPART_INLINE void apply_to(const float* x, float* y) {
  Floats value, gate;
  load(value, x);
  gate_of(value, gate);
  store(y, value * gate);
}

IMPART_INLINE void differentiate_at(const float* x, const float* grad_y, float* grad_x) {
  Floats value, gate, gradient;
  load(value, x);
  load(gradient, grad_y);
  gate_of(value, gate);
  const Floats slope = kTwiceRoot * (1.0f + 3.0f * kCube * value * value);
  store(grad_x, gradient * (gate + value * slope * gate * (1.0f - gate)));
}

}  // namespace

IMPART_VECTOR_CLONES
void apply_gelu(const float* x, std::int64_t count, float* y) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) apply_to(x + i, y + i);
  float in[kLanes] = {}, out[kLanes];
  std::copy(x + i, x + count, in);
  apply_to(in, out);
  std::copy(out, out + (count - i), y + i);
}

IMPART_VECTOR_CLONES
void differentiate_gelu(const float* x, const float* grad_y, std::int64_t count, float* grad_x) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) differentiate_at(x + i, grad_y + i, grad_x + i);
  float in[kLanes] = {}, grad[kLanes] = {}, out[kLanes];
  std::copy(x + i, x + count, in);
  std::copy(grad_y + i, grad_y + count, grad);
  differentiate_at(in, grad, out);
  std::copy(out, out + (count - i), grad_x + i);
}

}  // namespace impart::kernels
