#include "impart/models/layers/device_batch_norm.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/cuda/batch_norm.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {
namespace {

cuda::Element element_of(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kFloat ? cuda::Element::kFloat : cuda::Element::kBfloat16;
}

/// A new tensor for the output, and one for the places that pooling took its values from.
struct Output {
  torch::Tensor y, taps;
};

Output make_output(const torch::Tensor& x, bool pool) {
  if (!pool) return {torch::empty_like(x), {}};
  const std::vector<std::int64_t> shape = {x.size(0), x.size(1), (x.size(2) + 1) / 2,
                                           (x.size(3) + 1) / 2};
  const auto options = x.options().memory_format(torch::MemoryFormat::ChannelsLast);
  return {torch::empty(shape, options), torch::empty(shape, options.dtype(torch::kByte))};
}

cuda::Pooling describe_pooling(const torch::Tensor& x, const torch::Tensor& taps) {
  if (!taps.defined()) return {};
  return {.height = x.size(2), .width = x.size(3), .taps = taps.data_ptr<std::uint8_t>()};
}

/// Channels run fastest. For one pixel that is the plain order, too.
torch::Tensor channels_last(const torch::Tensor& tensor) {
  return tensor.dim() == 4 ? tensor.contiguous(torch::MemoryFormat::ChannelsLast)
                           : tensor.contiguous();
}

cuda::WorkerArray describe(const torch::Tensor& x) {
  return {.pixels = x.dim() == 4 ? x.size(2) * x.size(3) : 1,
          .channels = x.size(1),
          .longest = x.size(0),
          .element = element_of(x)};
}

cuda::WorkerArray describe(const torch::Tensor& x, const WorkerLayout& layout) {
  cuda::WorkerArray array = describe(x);
  array.workers = layout.workers();
  array.longest = 0;
  for (std::int64_t w = 0; w < layout.workers(); ++w) {
    array.longest = std::max(array.longest, layout.rows(w));
  }
  array.starts = layout.starts_on(x.device()).data_ptr<std::int64_t>();
  return array;
}

torch::Tensor floats(std::int64_t count, const torch::Tensor& like) {
  return torch::empty({count}, like.options().dtype(torch::kFloat));
}

cuda::BatchNorm describe(const cuda::WorkerArray& array, const torch::Tensor& x,
                         const torch::Tensor& residual, const Output& output,
                         const DeviceBatchNormSpec& spec) {
  const bool moves = spec.running_mean.defined();
  return {.array = array,
          .x = x.data_ptr(),
          .residual = residual.defined() ? residual.data_ptr() : nullptr,
          .y = output.y.data_ptr(),
          .weight = spec.weight.data_ptr<float>(),
          .bias = spec.bias.data_ptr<float>(),
          .running_mean = moves ? spec.running_mean.data_ptr<float>() : nullptr,
          .running_variance = moves ? spec.running_variance.data_ptr<float>() : nullptr,
          .batches = spec.batches.defined() ? spec.batches.data_ptr<std::int64_t>() : nullptr,
          .momentum = static_cast<float>(spec.momentum),
          .epsilon = static_cast<float>(spec.epsilon),
          .relu = spec.tail.relu,
          .pooling = describe_pooling(x, output.taps)};
}

class DeviceBatchNorm : public torch::autograd::Function<DeviceBatchNorm> {
 public:
  /// Returns the output twice.
  static torch::autograd::variable_list forward(
      torch::autograd::AutogradContext* context, const torch::Tensor& input,
      const torch::Tensor& weight, const torch::Tensor& bias, const torch::Tensor& residual_input,
      const WorkerLayout* layout, const DeviceBatchNormSpec* spec) {
    context->set_materialize_grads(false);
    const torch::Tensor x = channels_last(input);
    const bool has_residual = spec->tail.residual.defined();
    const torch::Tensor residual = has_residual ? channels_last(residual_input) : torch::Tensor();
    const cuda::WorkerArray array = describe(x, *layout);
    const Output output = make_output(x, spec->tail.pool);
    const torch::Tensor mean = floats(array.workers * array.channels, x);
    const torch::Tensor inverse = torch::empty_like(mean);
    const torch::Tensor scratch = floats(static_cast<std::int64_t>(cuda::scratch_floats(array)), x);
    cuda::BatchNorm norm = describe(array, x, residual, output, *spec);
    norm.mean = mean.data_ptr<float>();
    norm.inverse_deviation = inverse.data_ptr<float>();
    norm.scratch = scratch.data_ptr<float>();
    cuda::normalise(norm, tensors::current_stream());
    // Behind a residual the sign of y cannot be found from x.
    const bool needs_y = spec->tail.relu && has_residual;
    context->save_for_backward(
        {x, weight, bias, mean, inverse, needs_y ? output.y : torch::Tensor(), output.taps});
    context->saved_data["starts"] = layout->starts_on(x.device());
    context->saved_data["longest"] = array.longest;
    context->saved_data["relu"] = spec->tail.relu;
    context->saved_data["residual"] = has_residual;
    return {output.y, output.y.detach()};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1];
    const torch::Tensor starts = context->saved_data["starts"].toTensor();
    const bool has_residual = context->saved_data["residual"].toBool();
    const bool has_first = grads[0].defined(), has_both = has_first && grads[1].defined();
    const torch::Tensor grad_y = channels_last(has_first ? grads[0] : grads[1]);
    const torch::Tensor grad_y_too = has_both ? channels_last(grads[1]) : torch::Tensor();
    cuda::WorkerArray array = describe(x);
    array.workers = starts.size(0) - 1;
    array.longest = context->saved_data["longest"].toInt();
    array.starts = starts.data_ptr<std::int64_t>();
    torch::Tensor grad_x = torch::empty_like(x);
    torch::Tensor grad_residual = has_residual ? torch::empty_like(x) : torch::Tensor();
    torch::Tensor grad_weight = torch::empty_like(weight), grad_bias = torch::empty_like(weight);
    const torch::Tensor scratch = floats(static_cast<std::int64_t>(cuda::scratch_floats(array)), x);
    cuda::differentiate({.array = array,
                         .x = x.data_ptr(),
                         .y = saved[5].defined() ? saved[5].data_ptr() : nullptr,
                         .grad_y = grad_y.data_ptr(),
                         .grad_y_too = has_both ? grad_y_too.data_ptr() : nullptr,
                         .weight = weight.data_ptr<float>(),
                         .bias = saved[2].data_ptr<float>(),
                         .mean = saved[3].data_ptr<float>(),
                         .inverse_deviation = saved[4].data_ptr<float>(),
                         .relu = context->saved_data["relu"].toBool(),
                         .pooling = describe_pooling(x, saved[6]),
                         .grad_x = grad_x.data_ptr(),
                         .grad_residual = has_residual ? grad_residual.data_ptr() : nullptr,
                         .grad_weight = grad_weight.data_ptr<float>(),
                         .grad_bias = grad_bias.data_ptr<float>(),
                         .scratch = scratch.data_ptr<float>()},
                        tensors::current_stream());
    return {grad_x, grad_weight, grad_bias, grad_residual, {}, {}};
  }
};

}  // namespace

bool has_device_batch_norm(const torch::Tensor& input) {
  const auto type = input.scalar_type();
  return input.is_cuda() && cuda::has_kernels() && (input.dim() == 2 || input.dim() == 4) &&
         (type == torch::kFloat || type == torch::kBFloat16) && input.numel() > 0 &&
         cuda::takes_channels(input.size(1), element_of(input));
}

TensorFork normalise_workers(const torch::Tensor& input, const WorkerLayout& layout,
                             const DeviceBatchNormSpec& spec) {
  // Autograd takes no undefined tensors as inputs.
  const torch::Tensor residual = spec.tail.residual.defined() ? spec.tail.residual : spec.bias;
  const auto outputs =
      DeviceBatchNorm::apply(input, spec.weight, spec.bias, residual, &layout, &spec);
  return {outputs[0], outputs[1]};
}

torch::Tensor normalise_with_running(const torch::Tensor& input, const DeviceBatchNormSpec& spec) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor x = channels_last(input);
  const torch::Tensor residual =
      spec.tail.residual.defined() ? channels_last(spec.tail.residual) : torch::Tensor();
  const Output output = make_output(x, spec.tail.pool);
  cuda::normalise_with_running(describe(describe(x), x, residual, output, spec),
                               tensors::current_stream());
  return output.y;
}

}  // namespace impart::models
