#include "impart/models/layers/max_pool.h"

#include <torch/torch.h>

#include "impart/cuda/batch_norm.h"
#include "impart/cuda/pool.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {
namespace {

cuda::Element pooled_element(const torch::Tensor& images) {
  return images.scalar_type() == torch::kFloat ? cuda::Element::kFloat : cuda::Element::kBfloat16;
}

cuda::PoolShape shape_of(at::IntArrayRef sizes, std::int64_t window, cuda::Element element) {
  return {.rows = sizes[0],
          .height = sizes[2],
          .width = sizes[3],
          .channels = sizes[1],
          .window = static_cast<int>(window),
          .element = element};
}

class DeviceMaxPool : public torch::autograd::Function<DeviceMaxPool> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& input, std::int64_t window) {
    const torch::Tensor x = input.contiguous(torch::MemoryFormat::ChannelsLast);
    const cuda::PoolShape shape = shape_of(x.sizes(), window, pooled_element(x));
    const auto options = x.options().memory_format(torch::MemoryFormat::ChannelsLast);
    const std::vector<std::int64_t> sizes = {x.size(0), x.size(1), shape.pooled_height(),
                                             shape.pooled_width()};
    torch::Tensor y = torch::empty(sizes, options);
    const torch::Tensor taps = torch::empty(sizes, options.dtype(torch::kByte));
    cuda::max_pool({.shape = shape,
                    .x = x.data_ptr(),
                    .y = y.data_ptr(),
                    .taps = taps.data_ptr<std::uint8_t>()},
                   tensors::current_stream());
    context->save_for_backward({taps});
    context->saved_data["sizes"] = x.sizes().vec();
    context->saved_data["window"] = window;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const torch::Tensor taps = context->get_saved_variables()[0];
    const auto sizes = context->saved_data["sizes"].toIntVector();
    const std::int64_t window = context->saved_data["window"].toInt();
    const torch::Tensor grad_y = grads[0].contiguous(torch::MemoryFormat::ChannelsLast);
    const auto options = grad_y.options().memory_format(torch::MemoryFormat::ChannelsLast);
    const bool covers = sizes[2] % window == 0 && sizes[3] % window == 0;
    torch::Tensor grad_x = torch::empty(sizes, options);
    if (!covers) grad_x.zero_();
    cuda::max_pool_backward({.shape = shape_of(sizes, window, pooled_element(grad_y)),
                             .grad_y = grad_y.data_ptr(),
                             .taps = taps.data_ptr<std::uint8_t>(),
                             .grad_x = grad_x.data_ptr()},
                            tensors::current_stream());
    return {grad_x, {}};
  }
};

bool pools_on_device(const torch::Tensor& images, std::int64_t window) {
  const auto type = images.scalar_type();
  return images.is_cuda() && cuda::has_kernels() && window <= cuda::kLargestWindow &&
         (type == torch::kFloat || type == torch::kBFloat16) && images.numel() > 0 &&
         cuda::takes_channels(images.size(1), pooled_element(images));
}

}  // namespace

torch::Tensor max_pool(const torch::Tensor& images, std::int64_t window) {
  return pools_on_device(images, window) ? DeviceMaxPool::apply(images, window)
                                         : torch::max_pool2d(images, window);
}

}  // namespace impart::models
