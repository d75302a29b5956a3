// A baseline of text classification: the mean of the embeddings of the tokens that are not padding,
// in whatever order they stand, and a linear layer.

#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/layers/layers.h"
#include "impart/models/text/text_layers.h"
#include "impart/models/text/text_models.h"

namespace impart::models {
namespace {

constexpr std::int64_t kWidth = 128;
constexpr double kDeviation = 0.1;
constexpr std::int64_t kMean = 1;  ///< a mode of torch::embedding_bag

class BagOfEmbeddings : public Classifier {
 public:
  explicit BagOfEmbeddings(const TextModelSpec& spec) : spec_(spec) {
    embedding_ = register_module("embedding", Embedding(spec.vocabulary, kWidth, kDeviation));
    dropout_ = register_module("dropout", Dropout(spec.dropout));
    fc_ = register_module("fc", Linear(kWidth, spec.classes));
  }

  Output forward(torch::Tensor ids) override {
    check_tokens(ids, spec_.length, spec_.vocabulary);
    const torch::Tensor starts = torch::arange(ids.size(0), ids.options()).mul_(ids.size(1));
    const torch::Tensor mean = std::get<0>(torch::embedding_bag(
        embedding_->weight, ids.flatten(), starts, /*scale_grad_by_freq=*/false, kMean,
        /*sparse=*/false, /*per_sample_weights=*/{}, /*include_last_offset=*/false, spec_.pad));
    const torch::Tensor features = dropout_(mean);
    return {fc_(features), features};
  }

 private:
  TextModelSpec spec_;
  Embedding embedding_{nullptr};
  Dropout dropout_{nullptr};
  Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_bag_of_embeddings(const TextModelSpec& spec) {
  check_spec(spec);
  return std::make_shared<BagOfEmbeddings>(spec);
}

}  // namespace impart::models
