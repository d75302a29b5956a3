#include "impart/models/layers/layers.h"

#include <torch/torch.h>

#include "impart/models/layers/device_convolution.h"
#include "impart/models/layers/small_convolution.h"

namespace impart::models {

ConvolutionImpl::ConvolutionImpl(const ConvolutionSpec& spec) : spec_(spec) {
  weight =
      register_parameter("weight", torch::zeros({spec.out, spec.in, spec.kernel, spec.kernel}));
}

torch::Tensor ConvolutionImpl::forward(const torch::Tensor& images) {
  const torch::Tensor& kernel = used(weight, half_weight);
  torch::Tensor input = images.to(kernel.scalar_type());
  // In bfloat16 a CPU's library is fastest with channels last; floats keep their order, and bits.
  const bool turns = input.device().is_cpu() && half_weight.defined();
  if (turns) input = input.contiguous(torch::MemoryFormat::ChannelsLast);
  if (turns && is_small_convolution(input, spec_)) return convolve_small(input, kernel, spec_);
  // In evaluation whoever wants gradients asks for them: they are not left in `grad`.
  const bool leaves_gradients = is_training() || !torch::GradMode::is_enabled();
  if (side_stream_ != nullptr && leaves_gradients)
    return convolve_on_device(input, kernel, spec_, *side_stream_);
  return torch::conv2d(input, kernel, /*bias=*/{}, spec_.stride, /*padding=*/spec_.kernel / 2);
}

LinearImpl::LinearImpl(std::int64_t in, std::int64_t out) {
  weight = register_parameter("weight", torch::zeros({out, in}));
  bias = register_parameter("bias", torch::zeros({out}));
}

torch::Tensor LinearImpl::forward(const torch::Tensor& rows) {
  return torch::linear(rows.to(weight.scalar_type()), weight, bias);
}

}  // namespace impart::models
