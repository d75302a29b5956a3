#include "impart/models/layers.h"

#include <torch/torch.h>

namespace impart {

ConvolutionImpl::ConvolutionImpl(const ConvolutionSpec& spec) : spec_(spec) {
  weight =
      register_parameter("weight", torch::zeros({spec.out, spec.in, spec.kernel, spec.kernel}));
}

torch::Tensor ConvolutionImpl::forward(const torch::Tensor& images) {
  return torch::conv2d(images, weight, /*bias=*/{}, spec_.stride, /*padding=*/spec_.kernel / 2);
}

LinearImpl::LinearImpl(std::int64_t in, std::int64_t out) {
  weight = register_parameter("weight", torch::zeros({out, in}));
  bias = register_parameter("bias", torch::zeros({out}));
}

torch::Tensor LinearImpl::forward(const torch::Tensor& rows) {
  return torch::linear(rows, weight, bias);
}

}  // namespace impart
