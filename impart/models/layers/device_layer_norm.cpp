#include "impart/models/layers/device_layer_norm.h"

#include <torch/torch.h>

#include "impart/cuda/layer_norm.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::NormRows norm_rows_of(const torch::Tensor& values) {
  const std::int64_t width = values.dim() > 0 ? values.size(-1) : 0;
  return {.rows = width > 0 ? values.numel() / width : 0,
          .width = width,
          .element = values.scalar_type() == torch::kFloat ? cuda::Element::kFloat
                                                           : cuda::Element::kBfloat16};
}

/// Gives the normalised rows, and the sum before them if there is a branch.
class DeviceAddAndNorm : public torch::autograd::Function<DeviceAddAndNorm> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& given_trunk,
                               const torch::Tensor& given_branch, bool adds,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               double epsilon) {
    const torch::Tensor trunk = given_trunk.contiguous(), branch = given_branch.contiguous();
    const cuda::NormRows rows = norm_rows_of(trunk);
    const auto floats = trunk.options().dtype(torch::kFloat);
    torch::Tensor sum = adds ? torch::empty_like(trunk) : torch::Tensor();
    torch::Tensor normed = torch::empty_like(trunk);
    torch::Tensor mean = torch::empty({rows.rows}, floats);
    torch::Tensor deviation = torch::empty({rows.rows}, floats);
    cuda::add_and_norm({.rows = rows,
                        .trunk = trunk.data_ptr(),
                        .branch = adds ? branch.data_ptr() : nullptr,
                        .sum = adds ? sum.data_ptr() : nullptr,
                        .output = normed.data_ptr(),
                        .weight = weight.data_ptr(),
                        .bias = bias.data_ptr(),
                        .mean = mean.data_ptr<float>(),
                        .deviation = deviation.data_ptr<float>(),
                        .epsilon = static_cast<float>(epsilon)},
                       tensors::current_stream());
    context->save_for_backward({adds ? sum : trunk, weight, mean, deviation});
    context->saved_data["adds"] = adds;
    context->set_materialize_grads(false);
    if (!adds) return {normed};
    return {normed, sum};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &sum = saved[0], &weight = saved[1];
    const cuda::NormRows rows = norm_rows_of(sum);
    const bool adds = context->saved_data["adds"].toBool();
    const torch::Tensor of_normed =
        grads[0].defined() ? grads[0].contiguous() : torch::zeros_like(sum);
    const torch::Tensor of_sum =
        adds && grads[1].defined() ? grads[1].contiguous() : torch::Tensor();
    torch::Tensor of_input = torch::empty_like(sum);
    torch::Tensor of_weight = torch::empty_like(weight), of_bias = torch::empty_like(weight);
    torch::Tensor scratch = torch::empty({static_cast<std::int64_t>(cuda::norm_scratch(rows))},
                                         sum.options().dtype(torch::kFloat));
    cuda::add_and_norm_backward({.rows = rows,
                                 .sum = sum.data_ptr(),
                                 .grad_output = of_normed.data_ptr(),
                                 .grad_sum = of_sum.defined() ? of_sum.data_ptr() : nullptr,
                                 .weight = weight.data_ptr(),
                                 .mean = saved[2].data_ptr<float>(),
                                 .deviation = saved[3].data_ptr<float>(),
                                 .grad_input = of_input.data_ptr(),
                                 .grad_weight = of_weight.data_ptr(),
                                 .grad_bias = of_bias.data_ptr(),
                                 .scratch = scratch.data_ptr<float>()},
                                tensors::current_stream());
    return {of_input, adds ? of_input : torch::Tensor(), {}, of_weight, of_bias, {}};
  }
};

}  // namespace

bool has_device_layer_norm(const torch::Tensor& trunk, const torch::Tensor& branch,
                           const torch::Tensor& weight) {
  const auto type = trunk.scalar_type();
  return trunk.is_cuda() && (type == torch::kFloat || type == torch::kBFloat16) &&
         weight.scalar_type() == type && (!branch.defined() || branch.scalar_type() == type) &&
         cuda::can_norm_rows(norm_rows_of(trunk));
}

NormedSum add_and_norm_on_device(const torch::Tensor& trunk, const torch::Tensor& branch,
                                 const torch::Tensor& weight, const torch::Tensor& bias,
                                 double epsilon) {
  const bool adds = branch.defined();
  const auto results =
      DeviceAddAndNorm::apply(trunk, adds ? branch : trunk.detach(), adds, weight, bias, epsilon);
  return {.sum = adds ? results[1] : trunk, .normed = results[0]};
}

}  // namespace impart::models
