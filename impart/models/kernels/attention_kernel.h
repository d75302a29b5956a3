#pragma once

#include <cstdint>

namespace impart::kernels {

/// Attention of one head of one example on the CPU, in single precision, forward and backward.
///
/// Queries are taken in blocks of kQueryBlock; a block's probabilities stay in the cache and are
/// computed again in the backward pass, so nothing of size T × T is kept. Where attention is
/// causal, what lies beyond a block is not computed at all. Heads are independent and every sum is
/// taken in a fixed order: results are the same bits for any number of threads.
struct AttentionShape {
  std::int64_t tokens = 0;  ///< T
  std::int64_t heads = 1;   ///< H
  std::int64_t width = 0;   ///< d, of a head: a multiple of 16
  bool causal = true;       ///< position t sees 0 .. t only
};

/// A head's row t is at `data + t * stride`, d floats.
struct HeadRows {
  float* data;
  std::int64_t stride;
};
struct ConstHeadRows {
  const float* data;
  std::int64_t stride;
};

struct AttentionInputs {
  ConstHeadRows q, k, v;
  const float* key_bias = nullptr;  ///< [T], finite, added to all scores of a key; null: nothing
};

/// Whether there is a kernel for heads of this width.
bool has_attention_kernel(std::int64_t width);

/// How many floats of scratch memory a thread needs, for both passes.
std::int64_t attention_scratch(const AttentionShape& shape);

/// output = softmax(q kᵀ / √d + bias) v, and per query the logarithm of the softmax's denominator,
/// `normaliser`, [T].
void attend(const AttentionShape& shape, const AttentionInputs& inputs, HeadRows output,
            float* normaliser, float* scratch);

/// What the backward pass reads besides the inputs.
struct AttentionResults {
  ConstHeadRows output, grad_output;
  const float* normaliser;
};
struct AttentionGradients {
  HeadRows q, k, v;
};

/// Writes the gradients by q, k and v.
void differentiate_attention(const AttentionShape& shape, const AttentionInputs& inputs,
                             const AttentionResults& results, const AttentionGradients& gradients,
                             float* scratch);

}  // namespace impart::kernels
