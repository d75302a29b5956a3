#include "impart/models/text/transformer.h"

#include <cmath>

#include <torch/torch.h>

#include "impart/models/layers/attention.h"
#include "impart/models/layers/gelu.h"

namespace impart::models {
namespace {

double residual_deviation(const TransformerSpec& spec) {
  return kTextDeviation / std::sqrt(2.0 * static_cast<double>(spec.layers));
}

/// What is going to be added to the trunk, through a layer of dropout.
struct Branch {
  torch::Tensor values;
  Dropout dropout{nullptr};
};

/// A trunk and the branch that has not yet been added to it: a layer norm comes next, and does both
/// at once.
struct Residual {
  torch::Tensor trunk;
  Branch branch = {};
};

NormedSum take_in(const Residual& residual, LayerNorm& norm) {
  return norm->add(residual.trunk, residual.branch.values, residual.branch.dropout);
}

class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const TransformerSpec& spec)
      : spec_{.heads = spec.heads, .causal = spec.causal} {
    c_attn_ = register_module("c_attn", Projection(spec.width, 3 * spec.width));
    c_proj_ =
        register_module("c_proj", Projection(spec.width, spec.width, residual_deviation(spec)));
    dropout_ = register_module("resid_dropout", Dropout(spec.dropout));
  }

  Branch forward(const torch::Tensor& normed, const torch::Tensor& key_bias) {
    return {c_proj_(self_attention(c_attn_(normed), spec_, key_bias)), dropout_};
  }

 private:
  AttentionSpec spec_;
  Projection c_attn_{nullptr}, c_proj_{nullptr};
  Dropout dropout_{nullptr};
};
TORCH_MODULE(Attention);

class PerceptronImpl : public torch::nn::Module {
 public:
  explicit PerceptronImpl(const TransformerSpec& spec) {
    c_fc_ = register_module("c_fc", Projection(spec.width, 4 * spec.width));
    c_proj_ =
        register_module("c_proj", Projection(4 * spec.width, spec.width, residual_deviation(spec)));
    dropout_ = register_module("dropout", Dropout(spec.dropout));
  }

  Branch forward(const torch::Tensor& normed) {
    return {c_proj_(tanh_gelu(c_fc_(normed))), dropout_};
  }

 private:
  Projection c_fc_{nullptr}, c_proj_{nullptr};
  Dropout dropout_{nullptr};
};
TORCH_MODULE(Perceptron);

class LayerImpl : public torch::nn::Module {
 public:
  explicit LayerImpl(const TransformerSpec& spec) {
    ln_1_ = register_module("ln_1", LayerNorm(spec.width));
    attn_ = register_module("attn", Attention(spec));
    ln_2_ = register_module("ln_2", LayerNorm(spec.width));
    mlp_ = register_module("mlp", Perceptron(spec));
  }

  Residual forward(const Residual& in, const torch::Tensor& key_bias) {
    const NormedSum first = take_in(in, ln_1_);
    const NormedSum second = take_in({first.sum, attn_(first.normed, key_bias)}, ln_2_);
    return {second.sum, mlp_(second.normed)};
  }

 private:
  LayerNorm ln_1_{nullptr}, ln_2_{nullptr};
  Attention attn_{nullptr};
  Perceptron mlp_{nullptr};
};
TORCH_MODULE(Layer);

}  // namespace

TransformerImpl::TransformerImpl(const TransformerSpec& spec) : spec_(spec) {
  wte = register_module("wte", Embedding(spec.vocabulary, spec.width));
  wpe = register_module("wpe", Embedding(spec.length, spec.width));
  drop_ = register_module("drop", Dropout(spec.dropout));
  h_ = register_module("h", torch::nn::ModuleList());
  for (std::int64_t i = 0; i < spec.layers; ++i) h_->push_back(Layer(spec));
  ln_f_ = register_module("ln_f", LayerNorm(spec.width));
}

torch::Tensor TransformerImpl::forward(const torch::Tensor& ids, const torch::Tensor& key_bias) {
  check_tokens(ids, spec_.length, spec_.vocabulary);
  Residual residual{drop_(wte(ids) + wpe->table().narrow(0, 0, ids.size(1)))};
  for (const auto& layer : *h_) residual = layer->as<LayerImpl>()->forward(residual, key_bias);
  return take_in(residual, ln_f_).normed;
}

}  // namespace impart::models
