#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

namespace impart {

/// The layers that models are built from, besides batch norm. Unlike torch::nn's they draw nothing
/// from torch's global generator: parameters are zero until initialise_parameters or load_model.

struct ConvolutionSpec {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 3;  ///< odd; the image is padded so that stride 1 keeps its size
  std::int64_t stride = 1;
};

/// Convolution of images without bias: parameter `weight`, [out, in, kernel, kernel].
class ConvolutionImpl : public torch::nn::Module {
 public:
  explicit ConvolutionImpl(const ConvolutionSpec& spec);
  torch::Tensor forward(const torch::Tensor& images);

  torch::Tensor weight;

 private:
  ConvolutionSpec spec_;
};
TORCH_MODULE(Convolution);

/// x weightᵀ + bias: parameters `weight`, [out, in], and `bias`, [out].
class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out);
  torch::Tensor forward(const torch::Tensor& rows);

  torch::Tensor weight, bias;
};
TORCH_MODULE(Linear);

}  // namespace impart
