// ResNet-18, 34 and 50 (He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016),
// with torchvision's names, order and shapes of parameters and buffers, so that either side loads
// the other's weights. As there, the stride of a bottleneck sits in its 3×3 convolution.

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/layers/layers.h"
#include "impart/models/layers/norm_layer.h"

namespace impart::models {
namespace {

constexpr std::int64_t kStemWidth = 64;
const NormTail kRelu = {.relu = true};

struct BlockSpec {
  std::int64_t in = 0;     ///< channels of the input
  std::int64_t width = 0;  ///< channels of the inner convolutions
  std::int64_t stride = 1;
  config::Norm norm = config::Norm::kBatch;
};

/// Brings the input of a block to the shape of its output.
class Downsample : public torch::nn::Module {
 public:
  Downsample(const BlockSpec& spec, std::int64_t out) {
    convolution_ =
        register_module("0", Convolution(ConvolutionSpec{
                                 .in = spec.in, .out = out, .kernel = 1, .stride = spec.stride}));
    norm_ = register_module("1", make_norm(spec.norm, out));
  }
  torch::Tensor forward(const torch::Tensor& x) { return norm_->forward(convolution_(x)); }

 private:
  Convolution convolution_{nullptr};
  std::shared_ptr<NormLayer> norm_;
};

/// One summand of the network: x + f(x), rectified.
class Block : public torch::nn::Module {
 public:
  explicit Block(config::Norm norm) : norm_(norm) {}

  TensorFork forward(const TensorFork& x) {
    const torch::Tensor shortcut = downsample_ ? downsample_->forward(x.second) : x.second;
    return add_residual(x.first, {.relu = true, .residual = shortcut});
  }

 protected:
  /// f(x), whose last norm has this tail.
  virtual TensorFork add_residual(const torch::Tensor& x, const NormTail& tail) = 0;

  /// To be called last, since the order of registration is the order of the parameters.
  void register_downsample(const BlockSpec& spec, std::int64_t out) {
    if (spec.stride == 1 && spec.in == out) return;
    downsample_ = register_module("downsample", std::make_shared<Downsample>(spec, out));
  }
  void register_step(int number, const ConvolutionSpec& spec, Convolution& convolution,
                     std::shared_ptr<NormLayer>& norm) {
    convolution = register_module(fmt::format("conv{}", number), Convolution(spec));
    norm = register_module(fmt::format("bn{}", number), make_norm(norm_, spec.out));
  }

 private:
  config::Norm norm_;
  std::shared_ptr<Downsample> downsample_;
};

class BasicBlock : public Block {
 public:
  static constexpr std::int64_t kExpansion = 1;

  explicit BasicBlock(const BlockSpec& spec) : Block(spec.norm) {
    register_step(1, {.in = spec.in, .out = spec.width, .stride = spec.stride}, conv1_, bn1_);
    register_step(2, {.in = spec.width, .out = spec.width}, conv2_, bn2_);
    register_downsample(spec, spec.width);
  }

 private:
  TensorFork add_residual(const torch::Tensor& x, const NormTail& tail) override {
    return bn2_->forward_twice(conv2_(bn1_->forward(conv1_(x), kRelu)), tail);
  }

  Convolution conv1_{nullptr}, conv2_{nullptr};
  std::shared_ptr<NormLayer> bn1_, bn2_;
};

class Bottleneck : public Block {
 public:
  static constexpr std::int64_t kExpansion = 4;

  explicit Bottleneck(const BlockSpec& spec) : Block(spec.norm) {
    const std::int64_t width = spec.width, out = kExpansion * spec.width;
    register_step(1, {.in = spec.in, .out = width, .kernel = 1}, conv1_, bn1_);
    register_step(2, {.in = width, .out = width, .stride = spec.stride}, conv2_, bn2_);
    register_step(3, {.in = width, .out = out, .kernel = 1}, conv3_, bn3_);
    register_downsample(spec, out);
  }

 private:
  TensorFork add_residual(const torch::Tensor& x, const NormTail& tail) override {
    const torch::Tensor inner = bn2_->forward(conv2_(bn1_->forward(conv1_(x), kRelu)), kRelu);
    return bn3_->forward_twice(conv3_(inner), tail);
  }

  Convolution conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  std::shared_ptr<NormLayer> bn1_, bn2_, bn3_;
};

/// Blocks one after the other; the first may shrink the image.
class Stage : public torch::nn::Module {
 public:
  void append(std::shared_ptr<Block> block) {
    blocks_.push_back(register_module(fmt::to_string(blocks_.size()), std::move(block)));
  }
  TensorFork forward(TensorFork x) {
    for (const auto& block : blocks_) x = block->forward(x);
    return x;
  }

 private:
  std::vector<std::shared_ptr<Block>> blocks_;
};

class ResNet : public Classifier {
 public:
  template <class BlockType>
  static std::shared_ptr<ResNet> make(const ModelSpec& spec, std::array<int, 4> blocks) {
    check_spec(spec);
    auto network = std::make_shared<ResNet>(spec);
    std::int64_t in = kStemWidth;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::int64_t width = kStemWidth << i;
      auto stage = std::make_shared<Stage>();
      for (int block = 0; block < blocks[i]; ++block) {
        const std::int64_t stride = block == 0 && i > 0 ? 2 : 1;
        stage->append(std::make_shared<BlockType>(
            BlockSpec{.in = in, .width = width, .stride = stride, .norm = spec.norm}));
        in = BlockType::kExpansion * width;
      }
      network->stages_.push_back(network->register_module(fmt::format("layer{}", i + 1), stage));
    }
    network->fc_ = network->register_module("fc", Linear(in, spec.classes));
    return network;
  }

  /// The stem alone; `make` adds the rest.
  explicit ResNet(const ModelSpec& spec) : stem_(spec.stem) {
    const bool shrinks = stem_ == Stem::kImagenet;
    conv1_ = register_module("conv1", Convolution(ConvolutionSpec{.in = spec.channels,
                                                                  .out = kStemWidth,
                                                                  .kernel = shrinks ? 7 : 3,
                                                                  .stride = shrinks ? 2 : 1}));
    bn1_ = register_module("bn1", make_norm(spec.norm, kStemWidth));
  }

  Output forward(torch::Tensor images) override {
    TensorFork x =
        bn1_->forward_twice(conv1_(images), {.relu = true, .pool = stem_ == Stem::kImagenet});
    for (const auto& stage : stages_) x = stage->forward(x);
    const torch::Tensor maps = x.first;
    const bool is_pixel = maps.size(2) == 1 && maps.size(3) == 1;
    const torch::Tensor features = (is_pixel ? maps : torch::adaptive_avg_pool2d(maps, {1, 1}))
                                       .flatten(1)
                                       .to(fc_->weight.scalar_type());
    return {fc_(features), features};
  }

 private:
  Stem stem_;
  Convolution conv1_{nullptr};
  std::shared_ptr<NormLayer> bn1_;
  std::vector<std::shared_ptr<Stage>> stages_;
  Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Classifier> make_resnet18(const ModelSpec& spec) {
  return ResNet::make<BasicBlock>(spec, {2, 2, 2, 2});
}

std::shared_ptr<Classifier> make_resnet34(const ModelSpec& spec) {
  return ResNet::make<BasicBlock>(spec, {3, 4, 6, 3});
}

std::shared_ptr<Classifier> make_resnet50(const ModelSpec& spec) {
  return ResNet::make<Bottleneck>(spec, {3, 4, 6, 3});
}

}  // namespace impart::models
