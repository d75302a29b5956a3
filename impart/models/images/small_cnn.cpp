// Three 3×3 convolutions of 32, 64 and 128 channels, each with a norm and ReLU; 2×2 max-pooling
// after the first two, average pooling over what is left, and a linear layer.

#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/layers/layers.h"
#include "impart/models/layers/norm_layer.h"

namespace impart::models {
namespace {

Convolution convolution(std::int64_t in, std::int64_t out) {
  return Convolution(ConvolutionSpec{.in = in, .out = out});
}

/// Halves height and width, rounding up, so that a single pixel stays one.
torch::Tensor halve(const torch::Tensor& x) {
  return torch::max_pool2d(x, 2, 2, 0, 1, /*ceil_mode=*/true);
}

class SmallCnn : public Classifier {
 public:
  explicit SmallCnn(const ModelSpec& spec) {
    conv1_ = register_module("conv1", convolution(spec.channels, 32));
    bn1_ = register_module("bn1", make_norm(spec.norm, 32));
    conv2_ = register_module("conv2", convolution(32, 64));
    bn2_ = register_module("bn2", make_norm(spec.norm, 64));
    conv3_ = register_module("conv3", convolution(64, 128));
    bn3_ = register_module("bn3", make_norm(spec.norm, 128));
    fc_ = register_module("fc", Linear(128, spec.classes));
  }

  Output forward(torch::Tensor images) override {
    const NormTail relu{.relu = true};
    torch::Tensor x = halve(bn1_->forward(conv1_(images), relu));
    x = halve(bn2_->forward(conv2_(x), relu));
    x = bn3_->forward(conv3_(x), relu);
    const torch::Tensor features =
        torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1).to(fc_->weight.scalar_type());
    return {fc_(features), features};
  }

 private:
  Convolution conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  std::shared_ptr<NormLayer> bn1_, bn2_, bn3_;
  Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_small_cnn(const ModelSpec& spec) {
  check_spec(spec);
  return std::make_shared<SmallCnn>(spec);
}

}  // namespace impart::models
