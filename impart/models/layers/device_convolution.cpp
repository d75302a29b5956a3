#include "impart/models/layers/device_convolution.h"

#include <array>

#include <torch/torch.h>

#include "impart/cuda/fold.h"

namespace impart::models {
namespace {

enum class Way { kPlain, kFolded, kMiddle };

Way choose_way(const torch::Tensor& images, const ConvolutionSpec& spec) {
  const std::int64_t height = images.size(2), width = images.size(3);
  const bool folds = spec.kernel == 7 && spec.stride == 2 &&
                     images.scalar_type() == torch::kBFloat16 &&
                     cuda::can_fold(height, width, spec.in, cuda::Element::kBfloat16);
  if (folds) return Way::kFolded;
  return spec.kernel == 3 && height == 1 && width == 1 ? Way::kMiddle : Way::kPlain;
}

torch::Tensor fold(const torch::Tensor& images) {
  const torch::Tensor x = images.contiguous(torch::MemoryFormat::ChannelsLast);
  constexpr std::int64_t kMore = cuda::kFoldedKernel - 1;
  torch::Tensor folded =
      torch::empty({x.size(0), cuda::kFoldedChannels, x.size(2) / 2 + kMore, x.size(3) / 2 + kMore},
                   x.options().memory_format(torch::MemoryFormat::ChannelsLast));
  cuda::fold_images({.images = x.data_ptr(),
                     .folded = folded.data_ptr(),
                     .rows = x.size(0),
                     .height = x.size(2),
                     .width = x.size(3),
                     .channels = x.size(1),
                     .element = cuda::Element::kBfloat16},
                    tensors::current_stream());
  return folded;
}

cuda::FoldWeights describe(const torch::Tensor& weight, const torch::Tensor& folded) {
  return {.weights = weight.data_ptr(),
          .folded = folded.data_ptr(),
          .outputs = weight.size(0),
          .channels = weight.size(1),
          .element = cuda::Element::kBfloat16};
}

torch::Tensor fold_weight(const torch::Tensor& weight) {
  torch::Tensor folded = torch::empty(
      {weight.size(0), cuda::kFoldedChannels, cuda::kFoldedKernel, cuda::kFoldedKernel},
      weight.options().requires_grad(false).memory_format(torch::MemoryFormat::ChannelsLast));
  cuda::fold_weights(describe(weight, folded), tensors::current_stream());
  return folded;
}

/// The tap in the middle, [out, in], as a view.
torch::Tensor middle_of(const torch::Tensor& weight) {
  return weight.select(3, 1).select(2, 1);
}

/// What a backward pass needs to know about a convolution.
struct Call {
  Way way;
  std::int64_t stride, padding;
};

torch::Tensor differentiate(const Call& call, const torch::Tensor& grad_y, const torch::Tensor& x,
                            const torch::Tensor& weight, bool by_weight) {
  const auto gradients =
      at::convolution_backward(grad_y, x, weight, c10::nullopt, {call.stride, call.stride},
                               {call.padding, call.padding}, {1, 1}, /*transposed=*/false, {0, 0},
                               /*groups=*/1, std::array<bool, 3>{!by_weight, by_weight, false});
  return by_weight ? std::get<1>(gradients) : std::get<0>(gradients);
}

torch::Tensor grad_of_weight(const Call& call, const torch::Tensor& grad_y, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& folded) {
  if (call.way == Way::kPlain) {
    return differentiate(call, grad_y, x, weight, true)
        .contiguous(torch::MemoryFormat::ChannelsLast);
  }
  torch::Tensor gradient = torch::empty_like(weight);
  if (call.way == Way::kFolded) {
    const torch::Tensor of_folded =
        differentiate(call, grad_y, x, folded, true).contiguous(torch::MemoryFormat::ChannelsLast);
    cuda::unfold_weights(describe(gradient, of_folded), tensors::current_stream());
    return gradient;
  }
  gradient.zero_();
  torch::Tensor middle = middle_of(gradient);
  at::mm_out(middle, grad_y.flatten(1).t(), x.flatten(1));
  return gradient;
}

torch::Tensor grad_of_images(const Call& call, const torch::Tensor& grad_y, const torch::Tensor& x,
                             const torch::Tensor& weight) {
  if (call.way == Way::kPlain) return differentiate(call, grad_y, x, weight, false);
  return at::mm(grad_y.flatten(1), middle_of(weight)).view(x.sizes());
}

class DeviceConvolution : public torch::autograd::Function<DeviceConvolution> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& images, const torch::Tensor& weight,
                               const ConvolutionSpec* spec, tensors::SideStream* side) {
    const Way way = choose_way(images, *spec);
    const Call call =
        way == Way::kFolded ? Call{way, 1, 0} : Call{way, spec->stride, spec->kernel / 2};
    const torch::Tensor x = way == Way::kFolded ? fold(images) : images;
    const torch::Tensor folded = way == Way::kFolded ? fold_weight(weight) : torch::Tensor();
    context->save_for_backward({x, weight, folded});
    context->saved_data["way"] = static_cast<std::int64_t>(way);
    context->saved_data["stride"] = call.stride;
    context->saved_data["padding"] = call.padding;
    context->saved_data["needs_images"] = images.requires_grad();
    context->saved_data["side"] = reinterpret_cast<std::int64_t>(side);
    if (way == Way::kMiddle) {
      return at::mm(x.flatten(1), middle_of(weight).t()).view({x.size(0), spec->out, 1, 1});
    }
    return at::conv2d(x, folded.defined() ? folded : weight, {}, call.stride, call.padding);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor x = saved[0], weight = saved[1], folded = saved[2];
    const Call call{static_cast<Way>(context->saved_data["way"].toInt()),
                    context->saved_data["stride"].toInt(), context->saved_data["padding"].toInt()};
    auto* const side = reinterpret_cast<tensors::SideStream*>(context->saved_data["side"].toInt());
    const torch::Tensor grad_y = grads[0].contiguous(torch::MemoryFormat::ChannelsLast);
    side->wait();
    // What others wait for comes first.
    torch::Tensor grad_x;
    if (context->saved_data["needs_images"].toBool()) {
      grad_x = grad_of_images(call, grad_y, x, weight);
    }
    side->run(
        [&] {
          torch::Tensor leaf = weight;
          leaf.mutable_grad() = grad_of_weight(call, grad_y, x, weight, folded);
        },
        {grad_y, x, folded});
    return {grad_x, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor convolve_on_device(const torch::Tensor& images, const torch::Tensor& weight,
                                 const ConvolutionSpec& spec, tensors::SideStream& side) {
  return DeviceConvolution::apply(images, weight, &spec, &side);
}

}  // namespace impart::models
