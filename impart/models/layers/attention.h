#pragma once

#include <cstdint>

#include <torch/types.h>

namespace impart::models {

struct AttentionSpec {
  std::int64_t heads = 1;
  bool causal = true;  ///< position t sees 0 .. t; without, everything
};

/// Self-attention of several heads, without parameters: of `qkv`, [B, T, 3 C], queries, keys and
/// values side by side, to [B, T, C]. Differentiable (once). `key_bias`, undefined or [B, T],
/// finite and without gradient, is added to every score of a key: a large negative number hides the
/// key. It cannot stand beside `causal`. ConfigError if the heads do not divide C.
///
/// Floats on the CPU, heads of a width that is a multiple of 16: a kernel of our own
/// (attention_kernel.h) that keeps nothing of size T × T. Elsewhere the fastest of LibTorch: its
/// fused attention from 2.0 on, products and a softmax before. None drops probabilities out: fused
/// kernels would draw those numbers themselves.
torch::Tensor self_attention(const torch::Tensor& qkv, const AttentionSpec& spec,
                             const torch::Tensor& key_bias = {});

}  // namespace impart::models
