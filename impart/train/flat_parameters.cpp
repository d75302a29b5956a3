#include "impart/train/flat_parameters.h"

namespace impart {

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
    const auto shape = slice.parameter.sizes().vec();
    const auto place = values_.narrow(0, slice.start, slice.size).view(shape);
    place.copy_(slice.parameter);
    slice.parameter.set_data(place);
    slice.parameter.mutable_grad() = gradients_.narrow(0, slice.start, slice.size).view(shape);
  }
}

}  // namespace impart
