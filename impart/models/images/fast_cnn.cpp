// Cosines of small patches, six 3×3 convolutions, each with a norm and ReLU, three of them
// max-pooled before; the maximum over what is left, and a linear layer. A net of the kind that K.
// Jordan trains to 94 % on CIFAR-10 in seconds ("94 % on CIFAR-10 in 3.29 seconds on a single GPU",
// 2024), built of this library's layers. From there are the widths that grow late, filters that
// start by passing on what they get, pooling before normalising, and a first layer that whitens
// patches and is not trained.

#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/layers/layers.h"
#include "impart/models/layers/max_pool.h"
#include "impart/models/layers/norm_layer.h"
#include "impart/models/layers/patch_cosines.h"

namespace impart::models {
namespace {

struct LayerSpec {
  std::int64_t width;
  bool pool;
};

constexpr LayerSpec kLayers[] = {{64, true},   {64, false}, {256, true},
                                 {256, false}, {384, true}, {384, false}};

/// Of the features: keeps the first logits small, though they are made of maxima.
constexpr double kFeatureScale = 0.25;

class PassingConvolutionImpl : public ConvolutionImpl, public DrawsItself {
 public:
  explicit PassingConvolutionImpl(const ConvolutionSpec& spec)
      : ConvolutionImpl(spec),
        draw_{.kind = InitialDraw::Kind::kIdentity,
              .size = std::sqrt(2.0 / static_cast<double>(spec.kernel * spec.kernel * spec.out))} {}

  InitialDraw initial_draw(std::string_view) const override { return draw_; }

 private:
  InitialDraw draw_;
};
TORCH_MODULE(PassingConvolution);

class FastCnn : public Classifier {
 public:
  explicit FastCnn(const ModelSpec& spec) : patches_(spec.channels) {
    std::int64_t in = patches_.responses();
    for (const LayerSpec& layer : kLayers) {
      const std::size_t number = convolutions_.size() + 1;
      convolutions_.push_back(
          register_module(fmt::format("conv{}", number),
                          PassingConvolution(ConvolutionSpec{.in = in, .out = layer.width})));
      norms_.push_back(
          register_module(fmt::format("bn{}", number), make_norm(spec.norm, layer.width)));
      in = layer.width;
    }
    fc_ = register_module("fc", Linear(in, spec.classes));
  }

  Output forward(torch::Tensor images) override {
    torch::Tensor x = patches_.forward(images);
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      x = convolutions_[i](x);
      if (kLayers[i].pool) x = max_pool(x, 2);
      x = norms_[i]->forward(x, {.relu = true});
    }
    const torch::Tensor features = kFeatureScale * largest(x).to(fc_->weight.scalar_type());
    return {fc_(features), features};
  }

 private:
  /// Of each channel, [B, C].
  static torch::Tensor largest(const torch::Tensor& x) {
    if (x.size(2) != x.size(3)) return x.amax({2, 3});
    return max_pool(x, x.size(2)).flatten(1);
  }

  PatchCosines patches_;
  std::vector<PassingConvolution> convolutions_;
  std::vector<std::shared_ptr<NormLayer>> norms_;
  Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_fast_cnn(const ModelSpec& spec) {
  check_spec(spec);
  return std::make_shared<FastCnn>(spec);
}

}  // namespace impart::models
