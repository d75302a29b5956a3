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
/// On the CPU, heads of a width that is a multiple of 16: a kernel of our own (attention_kernel.h)
/// that keeps nothing of size T × T, in floats, also where qkv is bfloat16. Elsewhere the fastest
/// of LibTorch: its fused attention from 2.0 on, products and a softmax before. None drops
/// probabilities out: fused kernels would draw those numbers themselves.
torch::Tensor self_attention(const torch::Tensor& qkv, const AttentionSpec& spec,
                             const torch::Tensor& key_bias = {});

/// What a batch is filled up to, so that there are few different ones. cuDNN, which LibTorch
/// prefers on recent GPUs, takes about a second to plan for a shape that it has not seen, where a
/// step takes milliseconds: the short steps at the end of an epoch and texts of any length would
/// meet that again and again.
struct AttentionRoom {
  std::int64_t examples = 0, tokens = 0;

  bool operator==(const AttentionRoom&) const = default;
};

/// At most a quarter more examples, of more than four; tokens up to a multiple of 64 where
/// lengths differ from batch to batch, else as they are.
AttentionRoom room_for(std::int64_t examples, std::int64_t tokens, bool lengths_differ);

/// self_attention by LibTorch's operations, of a batch that is filled up with zeros which no token
/// sees, and cut again.
torch::Tensor attend_with_room(const torch::Tensor& qkv, const AttentionSpec& spec,
                               const torch::Tensor& key_bias, const AttentionRoom& room);

}  // namespace impart::models
