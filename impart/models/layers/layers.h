#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

namespace impart::tensors {
class SideStream;
}  // namespace impart::tensors

namespace impart::models {

/// A layer that can compute with bfloat16 copies of its parameters
/// (impart/train/update/half_weights.h). Copies get the gradients in the parameters' place, and are
/// no part of the model's state.
class ComputesInHalf {
 public:
  virtual ~ComputesInHalf() = default;

  struct Place {
    torch::Tensor parameter;
    torch::Tensor* copy;  ///< undefined until there is one
  };
  virtual std::vector<Place> half_places() = 0;
};

/// What to compute with: the copy if there is one.
inline const torch::Tensor& used(const torch::Tensor& parameter, const torch::Tensor& copy) {
  return copy.defined() ? copy : parameter;
}

/// The layers that models are built from, besides batch norm. Unlike torch::nn's they draw nothing
/// from torch's global generator: parameters are zero until initialise_parameters or load_model.

struct ConvolutionSpec {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 3;  ///< odd; the image is padded so that stride 1 keeps its size
  std::int64_t stride = 1;
};

/// Convolution of images without bias: parameter `weight`, [out, in, kernel, kernel].
///
/// If `half_weight` is set, images and results are bfloat16, too; on the CPU, with channels last.
class ConvolutionImpl : public torch::nn::Module, public ComputesInHalf {
 public:
  explicit ConvolutionImpl(const ConvolutionSpec& spec);
  torch::Tensor forward(const torch::Tensor& images);

  std::vector<Place> half_places() override { return {{weight, &half_weight}}; }

  torch::Tensor weight;
  torch::Tensor half_weight;

  /// If set, backward passes on a GPU compute the weight's gradient there and leave it in its
  /// `grad`, which is ready only after a join; see device_convolution.h.
  void set_side_stream(tensors::SideStream* stream) { side_stream_ = stream; }

 private:
  ConvolutionSpec spec_;
  tensors::SideStream* side_stream_ = nullptr;
};
TORCH_MODULE(Convolution);

/// x weightᵀ + bias: parameters `weight`, [out, in], and `bias`, [out]. Always in their type:
/// logits and losses keep the precision of floats where convolutions do not.
class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out);
  torch::Tensor forward(const torch::Tensor& rows);

  torch::Tensor weight, bias;
};
TORCH_MODULE(Linear);

}  // namespace impart::models
