// A multi-layer perceptron: the pixels, two hidden layers of 256 with ReLU, a linear layer.

#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/layers/layers.h"

namespace impart::models {
namespace {

constexpr std::int64_t kHidden = 256;

class Mlp : public Classifier {
 public:
  explicit Mlp(const ModelSpec& spec) {
    const std::int64_t pixels = spec.image_size * spec.image_size;
    fc1_ = register_module("fc1", Linear(spec.channels * pixels, kHidden));
    fc2_ = register_module("fc2", Linear(kHidden, kHidden));
    fc_ = register_module("fc", Linear(kHidden, spec.classes));
  }

  Output forward(torch::Tensor images) override {
    const torch::Tensor hidden = fc1_(images.flatten(1)).relu_();
    const torch::Tensor features = fc2_(hidden).relu_();
    return {fc_(features), features};
  }

 private:
  Linear fc1_{nullptr}, fc2_{nullptr}, fc_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_mlp(const ModelSpec& spec) {
  check_spec(spec);
  return std::make_shared<Mlp>(spec);
}

}  // namespace impart::models
