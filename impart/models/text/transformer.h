#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "impart/models/layers/dropout.h"
#include "impart/models/text/text_layers.h"

namespace impart::models {

struct TransformerSpec {
  std::int64_t vocabulary = 0;
  std::int64_t length = 0;  ///< positions that have an embedding
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  double dropout = 0;
  bool causal = true;
};

/// GPT-2 up to its last layer norm, with its names, shapes and initial values: embeddings of tokens
/// (wte) and positions (wpe); layers (h.0, h.1, …) of attention and a perceptron of 4 × width with
/// the tanh form of GELU, each behind a layer norm and added to what came in; a last norm (ln_f).
/// Weights are normal with deviation 0.02, those that write into the sum (c_proj) with
/// 0.02 / √(2 layers); biases are 0.
///
/// Dropout acts on the sum of embeddings and on what a layer adds, not on attention probabilities
/// (see attention.h).
class TransformerImpl : public torch::nn::Module {
 public:
  explicit TransformerImpl(const TransformerSpec& spec);

  /// [B, T, width] of token ids, [B, T]. `key_bias` as in self_attention.
  torch::Tensor forward(const torch::Tensor& ids, const torch::Tensor& key_bias = {});

  Embedding wte{nullptr}, wpe{nullptr};

 private:
  TransformerSpec spec_;
  Dropout drop_{nullptr};
  torch::nn::ModuleList h_;
  LayerNorm ln_f_{nullptr};
};
TORCH_MODULE(Transformer);

}  // namespace impart::models
