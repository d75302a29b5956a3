#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "impart/models/init.h"
#include "impart/models/layers/device_layer_norm.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/layers/layers.h"

namespace impart::models {

/// The layers that models of text are built from, besides attention and dropout. Parameters are
/// zero (of norms one) until initialise_parameters or load_model.

/// GPT-2's deviation of initial weights.
inline constexpr double kTextDeviation = 0.02;

/// One row per token: parameter `weight`, [tokens, width], normal.
class EmbeddingImpl : public torch::nn::Module, public DrawsItself, public ComputesInHalf {
 public:
  EmbeddingImpl(std::int64_t tokens, std::int64_t width, double deviation = kTextDeviation);
  torch::Tensor forward(const torch::Tensor& ids);
  InitialDraw initial_draw(std::string_view parameter) const override;
  std::vector<Place> half_places() override { return {{weight, &half_weight_}}; }
  /// What it computes with: the weight, or its copy.
  const torch::Tensor& table() const { return used(weight, half_weight_); }

  torch::Tensor weight;

 private:
  double deviation_;
  torch::Tensor half_weight_;
};
TORCH_MODULE(Embedding);

/// x weight + bias: parameters `weight`, [in, out] (Hugging Face's Conv1D), normal, and `bias`,
/// [out], zero.
class ProjectionImpl : public torch::nn::Module, public DrawsItself, public ComputesInHalf {
 public:
  ProjectionImpl(std::int64_t in, std::int64_t out, double deviation = kTextDeviation);
  torch::Tensor forward(const torch::Tensor& rows);
  InitialDraw initial_draw(std::string_view parameter) const override;
  std::vector<Place> half_places() override {
    return {{weight, &half_weight_}, {bias, &half_bias_}};
  }

  torch::Tensor weight, bias;

 private:
  double deviation_;
  torch::Tensor half_weight_, half_bias_;
};
TORCH_MODULE(Projection);

/// Normalises over the last dimension: parameters `weight` and `bias`, [width].
class LayerNormImpl : public torch::nn::Module, public ComputesInHalf {
 public:
  explicit LayerNormImpl(std::int64_t width);
  torch::Tensor forward(const torch::Tensor& rows);
  /// Of trunk + dropout(branch), which is given back, too; an undefined branch: of the trunk.
  NormedSum add(const torch::Tensor& trunk, const torch::Tensor& branch, const Dropout& dropout);
  std::vector<Place> half_places() override {
    return {{weight, &half_weight_}, {bias, &half_bias_}};
  }

  torch::Tensor weight, bias;

 private:
  torch::Tensor half_weight_, half_bias_;
};
TORCH_MODULE(LayerNorm);

/// ConfigError if the ids are not [B, T] of int64 with T ≤ length. DataError that names the row and
/// the position of an id outside the vocabulary; on the CPU only, elsewhere that would mean to
/// wait.
void check_tokens(const torch::Tensor& ids, std::int64_t length, std::int64_t vocabulary);

}  // namespace impart::models
