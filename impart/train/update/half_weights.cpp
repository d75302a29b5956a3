#include "impart/train/update/half_weights.h"

#include <torch/torch.h>

#include "impart/models/layers/layers.h"
#include "impart/models/module_tree.h"

namespace impart::train {

HalfWeights::HalfWeights(torch::nn::Module& model, FlatParameters& parameters)
    : parameters_(parameters), copies_(parameters.slices().size()) {
  values_ = torch::zeros(parameters.values().sizes(),
                         parameters.values().options().dtype(torch::kBFloat16));
  models::visit_modules(model, [&](const std::string&, torch::nn::Module& module) {
    auto* layer = dynamic_cast<models::ComputesInHalf*>(&module);
    if (layer == nullptr) return;
    for (const models::ComputesInHalf::Place& place : layer->half_places()) {
      for (std::size_t i = 0; i < copies_.size(); ++i) {
        const auto& slice = parameters_.slices()[i];
        if (!slice.parameter.is_same(place.parameter)) continue;
        copies_[i] = FlatParameters::view_of(slice, values_).detach().requires_grad_(true);
        *place.copy = copies_[i];
      }
    }
  });
  refresh();
}

void HalfWeights::use(const torch::Tensor& values) {
  values_ = values;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (!copies_[i].defined()) continue;
    copies_[i].set_data(FlatParameters::view_of(parameters_.slices()[i], values_));
  }
}

void HalfWeights::refresh() {
  const torch::NoGradGuard no_grad;
  values_.copy_(parameters_.values());
}

void HalfWeights::collect_gradients() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (!copies_[i].defined() || !copies_[i].grad().defined()) continue;
    FlatParameters::view_of(parameters_.slices()[i], parameters_.gradients())
        .add_(copies_[i].grad());
    copies_[i].mutable_grad().reset();
  }
}

}  // namespace impart::train
