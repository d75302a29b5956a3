// An LSTM language model: embedding, two layers, a linear layer. Every example starts from a state
// of zeros. Dropout acts between layers, as in Zaremba, Sutskever, Vinyals (2014).

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/layers/layers.h"
#include "impart/models/text/text_layers.h"
#include "impart/models/text/text_models.h"

namespace impart::models {
namespace {

constexpr std::int64_t kLstmWidth = 256, kLstmLayers = 2;
constexpr std::int64_t kGates = 4;

/// Layers of the same width, parameters as torch::nn::LSTM names and draws them.
class LstmLayersImpl : public torch::nn::Module, public DrawsItself {
 public:
  explicit LstmLayersImpl(double dropout) {
    for (std::int64_t layer = 0; layer < kLstmLayers; ++layer) {
      parameters_[layer] = {register_parameter(fmt::format("weight_ih_l{}", layer),
                                               torch::zeros({kGates * kLstmWidth, kLstmWidth})),
                            register_parameter(fmt::format("weight_hh_l{}", layer),
                                               torch::zeros({kGates * kLstmWidth, kLstmWidth})),
                            register_parameter(fmt::format("bias_ih_l{}", layer),
                                               torch::zeros({kGates * kLstmWidth})),
                            register_parameter(fmt::format("bias_hh_l{}", layer),
                                               torch::zeros({kGates * kLstmWidth}))};
      if (layer > 0) {
        dropouts_[layer] = register_module(fmt::format("dropout_l{}", layer), Dropout(dropout));
      }
    }
  }

  torch::Tensor forward(torch::Tensor rows) {
    const torch::Tensor zeros = torch::zeros({1, rows.size(0), kLstmWidth}, rows.options());
    for (std::int64_t layer = 0; layer < kLstmLayers; ++layer) {
      if (layer > 0) rows = dropouts_[layer](rows);
      rows = std::get<0>(torch::lstm(rows, {zeros, zeros}, parameters_[layer], /*has_biases=*/true,
                                     /*num_layers=*/1, /*dropout=*/0, is_training(),
                                     /*bidirectional=*/false, /*batch_first=*/true));
    }
    return rows;
  }

  InitialDraw initial_draw(std::string_view) const override {
    return {InitialDraw::Kind::kUniform, 1 / std::sqrt(static_cast<double>(kLstmWidth))};
  }

 private:
  std::array<std::vector<torch::Tensor>, kLstmLayers> parameters_;
  std::array<Dropout, kLstmLayers> dropouts_{Dropout(nullptr), Dropout(nullptr)};
};
TORCH_MODULE(LstmLayers);

class Lstm : public Classifier {
 public:
  explicit Lstm(const TextModelSpec& spec) : spec_(spec) {
    embedding_ = register_module("embedding", Embedding(spec.vocabulary, kLstmWidth));
    embedding_dropout_ = register_module("embedding_dropout", Dropout(spec.dropout));
    lstm_ = register_module("lstm", LstmLayers(spec.dropout));
    dropout_ = register_module("dropout", Dropout(spec.dropout));
    if (!spec.tied) head_ = register_module("head", Embedding(spec.vocabulary, kLstmWidth));
  }

  Output forward(torch::Tensor ids) override {
    check_tokens(ids, spec_.length, spec_.vocabulary);
    const Embedding& head = head_.is_empty() ? embedding_ : head_;
    // The recurrence has no bfloat16 copies of its parameters.
    const torch::Tensor inputs = embedding_(ids).to(head->weight.scalar_type());
    const torch::Tensor features = dropout_(lstm_(embedding_dropout_(inputs)));
    return {torch::linear(features, head->weight), features};
  }

 private:
  TextModelSpec spec_;
  Embedding embedding_{nullptr}, head_{nullptr};
  Dropout embedding_dropout_{nullptr}, dropout_{nullptr};
  LstmLayers lstm_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_lstm(const TextModelSpec& spec) {
  check_spec(spec);
  return std::make_shared<Lstm>(spec);
}

}  // namespace impart::models
