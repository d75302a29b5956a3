#include "impart/models/layers/device_dropout.h"

#include <vector>

#include <torch/torch.h>

#include "impart/cuda/dropout.h"
#include "impart/models/layers/dropout.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {
namespace {

std::vector<cuda::DropoutSlice> slices_of(const std::vector<std::int64_t>& numbers) {
  std::vector<cuda::DropoutSlice> slices;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    slices.push_back(
        {static_cast<std::uint32_t>(numbers[i]), static_cast<std::uint32_t>(numbers[i + 1])});
  }
  return slices;
}

/// Workers and rows by turns: what autograd can keep for the way back.
std::vector<std::int64_t> numbers_of(const std::vector<DropoutPlan::Slice>& slices) {
  std::vector<std::int64_t> numbers;
  for (const auto& slice : slices) {
    numbers.push_back(index(slice.worker));
    numbers.push_back(slice.rows);
  }
  return numbers;
}

torch::Tensor drop(const torch::Tensor& input, const torch::Tensor& trunk, const torch::Tensor& key,
                   const std::vector<std::int64_t>& slices, const DeviceDropoutSpec& spec) {
  torch::Tensor output = torch::empty_like(input);
  const auto table = slices_of(slices);
  cuda::drop({.input = input.data_ptr(),
              .trunk = trunk.defined() ? trunk.data_ptr() : nullptr,
              .output = output.data_ptr(),
              .element = input.scalar_type() == torch::kFloat ? cuda::Element::kFloat
                                                              : cuda::Element::kBfloat16,
              .width = input.size(0) > 0 ? input.numel() / input.size(0) : 0,
              .slices = table,
              .key = reinterpret_cast<const cuda::DropoutKey*>(key.data_ptr<std::int32_t>()),
              .layer = spec.layer,
              .dropped = spec.dropped,
              .kept = spec.kept},
             tensors::current_stream());
  return output;
}

class DeviceDropout : public torch::autograd::Function<DeviceDropout> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& input, const torch::Tensor& trunk, bool adds,
                               const torch::Tensor& key, const std::vector<std::int64_t>& slices,
                               std::int64_t layer, std::int64_t dropped, double kept) {
    context->saved_data["adds"] = adds;
    context->saved_data["key"] = key;
    context->saved_data["slices"] = slices;
    context->saved_data["layer"] = layer;
    context->saved_data["dropped"] = dropped;
    context->saved_data["kept"] = kept;
    return drop(input.contiguous(), adds ? trunk.contiguous() : torch::Tensor(), key, slices,
                {static_cast<std::uint32_t>(layer), static_cast<std::uint32_t>(dropped),
                 static_cast<float>(kept)});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    auto& saved = context->saved_data;
    const torch::Tensor gradient = grads[0].contiguous();
    const torch::Tensor of_input =
        drop(gradient, {}, saved["key"].toTensor(), saved["slices"].toIntVector(),
             {static_cast<std::uint32_t>(saved["layer"].toInt()),
              static_cast<std::uint32_t>(saved["dropped"].toInt()),
              static_cast<float>(saved["kept"].toDouble())});
    const torch::Tensor of_trunk = saved["adds"].toBool() ? gradient : torch::Tensor();
    return {of_input, of_trunk, {}, {}, {}, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor make_device_key(torch::Device device) {
  return torch::zeros({sizeof(cuda::DropoutKey) / sizeof(std::int32_t)},
                      torch::TensorOptions(torch::kInt32).device(device));
}

void set_device_key(torch::Tensor& key, const PhiloxKey& value) {
  cuda::set_dropout_key(reinterpret_cast<cuda::DropoutKey*>(key.data_ptr<std::int32_t>()),
                        {{value[0], value[1]}}, tensors::current_stream());
}

bool has_device_dropout(const torch::Tensor& input, const DropoutPlan& plan) {
  const auto type = input.scalar_type();
  return input.is_cuda() && plan.device_key.defined() &&
         (type == torch::kFloat || type == torch::kBFloat16);
}

torch::Tensor drop_on_device(const torch::Tensor& input, const torch::Tensor& trunk,
                             const DropoutPlan& plan, const DeviceDropoutSpec& spec) {
  const bool adds = trunk.defined();
  return DeviceDropout::apply(input, adds ? trunk : input.detach(), adds, plan.device_key,
                              numbers_of(plan.slices), std::int64_t{spec.layer},
                              std::int64_t{spec.dropped}, double{spec.kept});
}

}  // namespace impart::models
