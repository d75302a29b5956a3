// A text classifier: a transformer in which every token sees every other, the mean over the tokens
// that are not padding, a linear layer. Padding is neither seen nor counted: an example's logits do
// not depend on how far its row is filled up.

#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/layers/layers.h"
#include "impart/models/text/text_models.h"
#include "impart/models/text/transformer.h"

namespace impart::models {
namespace {

constexpr std::int64_t kEncoderLayers = 2, kEncoderHeads = 4, kEncoderWidth = 128;
constexpr double kHiddenScore =
    -1e30;  ///< finite, so that an example of nothing but padding is, too

class TextEncoder : public Classifier {
 public:
  explicit TextEncoder(const TextModelSpec& spec) : pad_(spec.pad) {
    transformer_ = register_module("transformer", Transformer(TransformerSpec{
                                                      .vocabulary = spec.vocabulary,
                                                      .length = spec.length,
                                                      .layers = kEncoderLayers,
                                                      .heads = kEncoderHeads,
                                                      .width = kEncoderWidth,
                                                      .dropout = spec.dropout,
                                                      .causal = false,
                                                  }));
    fc_ = register_module("fc", Linear(kEncoderWidth, spec.classes));
  }

  Output forward(torch::Tensor ids) override {
    const torch::Tensor padding = ids.eq(pad_);
    const auto type = fc_->weight.scalar_type();
    const torch::Tensor tokens = transformer_(ids, padding.to(type) * kHiddenScore);
    const torch::Tensor counted = padding.logical_not().to(type).unsqueeze(2);
    const torch::Tensor features = (tokens * counted).sum(1) / counted.sum(1).clamp_min(1);
    return {fc_(features), features};
  }

 private:
  std::int64_t pad_;
  Transformer transformer_{nullptr};
  Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_text_encoder(const TextModelSpec& spec) {
  check_spec(spec);
  return std::make_shared<TextEncoder>(spec);
}

}  // namespace impart::models
