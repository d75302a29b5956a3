#include "impart/train/update/flat_parameters.h"

namespace impart::train {

FlatParameters::FlatParameters(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  std::int64_t size = 0;
  for (const torch::Tensor& parameter : model.parameters()) {
    slices_.push_back({parameter, size, parameter.numel()});
    size += parameter.numel();
  }
  const auto options = slices_.front().parameter.options().requires_grad(false);
  values_ = torch::empty({size}, options);
  gradients_ = torch::zeros({size}, options);
  for (Slice& slice : slices_) {
    const auto place = view_of(slice, values_);
    place.copy_(slice.parameter);
    slice.parameter.set_data(place);
  }
  attach_gradients();
}

void FlatParameters::use(const torch::Tensor& values) {
  values_ = values;
  for (Slice& slice : slices_) slice.parameter.set_data(view_of(slice, values_));
}

torch::Tensor FlatParameters::view_of(const Slice& slice, const torch::Tensor& flat) {
  const auto shape = slice.parameter.sizes();
  const torch::Tensor part = flat.narrow(0, slice.start, slice.size);
  if (flat.device().is_cpu() || shape.size() != 4) return part.view(shape);
  return part.view({shape[0], shape[2], shape[3], shape[1]}).permute({0, 3, 1, 2});
}

void FlatParameters::attach_gradients() {
  for (Slice& slice : slices_) slice.parameter.mutable_grad() = view_of(slice, gradients_);
}

torch::Tensor FlatParameters::to_cpu_order(const torch::Tensor& flat) const {
  const torch::NoGradGuard no_grad;
  if (flat.device().is_cpu()) return flat.clone();
  std::vector<torch::Tensor> pieces;
  for (const Slice& slice : slices_) pieces.push_back(view_of(slice, flat).flatten());
  return torch::cat(pieces).to(torch::kCPU);
}

void FlatParameters::copy_from_cpu_order(const torch::Tensor& ordered, torch::Tensor flat) const {
  const torch::NoGradGuard no_grad;
  for (const Slice& slice : slices_) {
    view_of(slice, flat)
        .copy_(ordered.narrow(0, slice.start, slice.size).view(slice.parameter.sizes()));
  }
}

}  // namespace impart::train
