// GPT language models. Names and shapes are those of Hugging Face's GPT2LMHeadModel, so that its
// from_pretrained loads what save_model writes. A tied head has no tensor of its own in the file,
// as in the safetensors that Hugging Face writes.

#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/text/text_models.h"
#include "impart/models/text/transformer.h"

namespace impart::models {
namespace {

class Gpt : public Classifier {
 public:
  Gpt(const TextModelSpec& spec, const config::GptSize& size) {
    transformer_ = register_module("transformer", Transformer(TransformerSpec{
                                                      .vocabulary = spec.vocabulary,
                                                      .length = spec.length,
                                                      .layers = size.layers,
                                                      .heads = size.heads,
                                                      .width = size.width,
                                                      .dropout = spec.dropout,
                                                  }));
    if (!spec.tied) lm_head_ = register_module("lm_head", Embedding(spec.vocabulary, size.width));
  }

  Output forward(torch::Tensor ids) override {
    const torch::Tensor features = transformer_(ids);
    const Embedding& head = lm_head_.is_empty() ? transformer_->wte : lm_head_;
    return {torch::linear(features, head->table()), features};
  }

 private:
  Transformer transformer_{nullptr};
  Embedding lm_head_{nullptr};
};

std::shared_ptr<Classifier> make_gpt(const TextModelSpec& spec, std::string_view name) {
  check_spec(spec);
  return std::make_shared<Gpt>(spec, config::find_model_name(name)->gpt);
}

}  // namespace

std::shared_ptr<Classifier> make_gpt_tiny(const TextModelSpec& spec) {
  return make_gpt(spec, "gpt-tiny");
}

std::shared_ptr<Classifier> make_gpt_mini(const TextModelSpec& spec) {
  return make_gpt(spec, "gpt-mini");
}

std::shared_ptr<Classifier> make_gpt2_small(const TextModelSpec& spec) {
  return make_gpt(spec, "gpt2-small");
}

}  // namespace impart::models
