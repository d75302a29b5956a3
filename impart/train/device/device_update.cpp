#include "impart/train/device/device_update.h"

#include <cmath>
#include <cstddef>

#include <torch/torch.h>

#include "impart/tensors/torch_stream.h"

namespace impart::train {
namespace {

/// Whether two tensors of one shape lie in memory in the same order.
bool same_order(const torch::Tensor& a, const torch::Tensor& b) {
  for (std::int64_t dim = 0; dim < a.dim(); ++dim) {
    if (a.size(dim) > 1 && a.stride(dim) != b.stride(dim)) return false;
  }
  return true;
}

/// The bfloat16 copy of a parameter; undefined if the model computes with the parameter itself.
torch::Tensor copy_of(const DeviceUpdateSpec& spec, std::size_t slice) {
  return spec.half_weights != nullptr ? spec.half_weights->copy_of(slice) : torch::Tensor();
}

}  // namespace

DeviceUpdate::DeviceUpdate(const DeviceUpdateSpec& spec) : spec_(spec) {
  const auto options = spec.parameters->values().options();
  step_state_ = torch::zeros({sizeof(cuda::StepState)}, options.dtype(torch::kByte));
  scratch_ = torch::zeros({cuda::kNormBlocks + 1}, options);
}

cuda::StepState* DeviceUpdate::state() {
  return reinterpret_cast<cuda::StepState*>(step_state_.data_ptr<std::uint8_t>());
}

torch::Tensor DeviceUpdate::first_row() const {
  using First = decltype(cuda::StepState::first_row);
  return step_state_.narrow(0, offsetof(cuda::StepState, first_row), sizeof(First))
      .view(torch::kInt64);
}

torch::Tensor DeviceUpdate::loss_scale() const {
  return step_state_.narrow(0, offsetof(cuda::StepState, loss_scale), sizeof(float))
      .view(torch::kFloat)
      .squeeze(0);
}

void DeviceUpdate::begin(const Step& step) {
  const config::OptimizerConfig& optimizer = spec_.optimizer;
  spec_.state->set_steps(spec_.state->steps() + 1);
  const auto count = static_cast<double>(spec_.state->steps());
  cuda::set_step(
      state(),
      {.first_row = step.first_row,
       .rate = static_cast<float>(step.learning_rate),
       .loss_scale = static_cast<float>(1.0 / static_cast<double>(step.examples)),
       .correction1 = static_cast<float>(1 - std::pow(optimizer.beta1, count)),
       .correction2 = static_cast<float>(std::sqrt(1 - std::pow(optimizer.beta2, count)))},
      tensors::current_stream());
  if (spec_.sum != nullptr) {
    spec_.sum->note_sum(static_cast<std::size_t>(spec_.parameters->gradients().numel()));
  }
}

void DeviceUpdate::clear_gradients() {
  const auto& slices = spec_.parameters->slices();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    torch::Tensor parameter = slices[i].parameter, copy = copy_of(spec_, i);
    parameter.mutable_grad().reset();
    if (copy.defined()) copy.mutable_grad().reset();
  }
}

/// In the memory order of the flat array, where a pass over the model left none: zeros.
torch::Tensor DeviceUpdate::gradient_of(std::size_t slice) const {
  const torch::Tensor copy = copy_of(spec_, slice);
  const torch::Tensor& used = copy.defined() ? copy : spec_.parameters->slices()[slice].parameter;
  const torch::Tensor& gradient = used.grad();
  if (!gradient.defined()) return torch::zeros_like(used);
  return same_order(gradient, used) ? gradient : torch::empty_like(used).copy_(gradient);
}

void DeviceUpdate::sum_gradients() {
  if (spec_.sum == nullptr) return;
  const torch::NoGradGuard no_grad;
  torch::Tensor& flat = spec_.parameters->gradients();
  const auto& slices = spec_.parameters->slices();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    FlatParameters::view_of(slices[i], flat).copy_(gradient_of(i));
  }
  spec_.sum->sum(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()),
                 tensors::current_stream());
}

/// Where the gradients are; `kept` holds what must live until they have been read.
std::vector<cuda::GradientSlice> DeviceUpdate::find_gradients(
    std::vector<torch::Tensor>& kept) const {
  std::vector<cuda::GradientSlice> gradients;
  const auto& slices = spec_.parameters->slices();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    kept.push_back(spec_.sum != nullptr
                       ? FlatParameters::view_of(slices[i], spec_.parameters->gradients())
                       : gradient_of(i));
    const torch::Tensor& gradient = kept.back();
    gradients.push_back({.gradient = gradient.data_ptr(),
                         .element = gradient.scalar_type() == torch::kFloat
                                        ? cuda::Element::kFloat
                                        : cuda::Element::kBfloat16,
                         .start = slices[i].start,
                         .size = slices[i].size,
                         .has_half = copy_of(spec_, i).defined()});
  }
  return gradients;
}

void DeviceUpdate::apply() {
  const torch::NoGradGuard no_grad;
  const config::OptimizerConfig& config = spec_.optimizer;
  std::vector<torch::Tensor> kept;
  const auto gradients = find_gradients(kept);
  auto& moments = spec_.state->state();
  cuda::update(
      {.slices = gradients,
       .values = spec_.parameters->values().data_ptr<float>(),
       .first = moments[0].data_ptr<float>(),
       .second = moments.size() > 1 ? moments[1].data_ptr<float>() : nullptr,
       .halves = spec_.half_weights != nullptr ? spec_.half_weights->values().data_ptr() : nullptr,
       .adamw = config.name == config::OptimizerConfig::Name::kAdamw,
       .momentum = static_cast<float>(config.momentum),
       .weight_decay = static_cast<float>(config.weight_decay),
       .nesterov = config.nesterov,
       .beta1 = static_cast<float>(config.beta1),
       .beta2 = static_cast<float>(config.beta2),
       .epsilon = static_cast<float>(config.epsilon),
       .step = state(),
       .clip_norm = static_cast<float>(config.clip_norm),
       .scratch = scratch_.data_ptr<float>()},
      tensors::current_stream());
}

}  // namespace impart::train
