#include "impart/train/own_model.h"

#include <set>
#include <string>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/module_tree.h"

namespace impart::train {
namespace {

void check_module(const std::string& name, const torch::nn::Module& module) {
  const bool mixes_workers = module.as<torch::nn::BatchNorm1dImpl>() != nullptr ||
                             module.as<torch::nn::BatchNorm2dImpl>() != nullptr ||
                             module.as<torch::nn::BatchNorm3dImpl>() != nullptr;
  if (!mixes_workers) return;
  throw ConfigError(
      fmt::format("own model: '{}' is {}, which would mix the workers of a process; take "
                  "impart::WorkerBatchNorm2d",
                  name, module.name()));
}

void check_parameter(const std::string& name, const torch::Tensor& parameter) {
  const auto refuse = [&](const char* reason) {
    throw ConfigError(fmt::format("own model: parameter '{}' {}", name, reason));
  };
  if (parameter.scalar_type() != torch::kFloat32) refuse("is not of type float");
  if (!parameter.requires_grad()) refuse("needs no gradient; register it as a buffer");
}

}  // namespace

void check_own_model(models::Classifier& model) {
  std::set<const void*> seen;
  models::visit_modules(model, [&](const std::string& name, torch::nn::Module& module) {
    check_module(name, module);
    for (const auto& item : module.named_parameters(/*recurse=*/false)) {
      const std::string full = name.empty() ? item.key() : name + "." + item.key();
      check_parameter(full, item.value());
      if (seen.insert(item.value().unsafeGetTensorImpl()).second) continue;
      throw ConfigError(fmt::format("own model: parameter '{}' is registered twice", full));
    }
  });
  if (seen.empty()) throw ConfigError("own model: it has no parameters to train");
}

void prepare_own_model(models::Classifier& model, torch::Device device,
                       comm::Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  for (models::NamedTensor& state : models::state_of(model)) {
    torch::Tensor host = state.tensor.to(torch::kCPU).contiguous();
    communicator.broadcast({static_cast<std::byte*>(host.data_ptr()), host.nbytes()}, 0);
    state.tensor.copy_(host);
  }
  model.to(device);
}

}  // namespace impart::train
