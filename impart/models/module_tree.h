#pragma once

#include <functional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

namespace impart::models {

/// Calls `visit` with a module, whose name is "", and all modules below it, with their dotted
/// names; a module before its children, and these in the order of their registration. It is the
/// order of PyTorch's state_dict.
void visit_modules(
    torch::nn::Module& root,
    const std::function<void(const std::string& name, torch::nn::Module& module)>& visit);

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;  ///< the model's own, not a copy
};

/// What PyTorch calls the state_dict: of each module its parameters, then its buffers.
std::vector<NamedTensor> state_of(torch::nn::Module& model);

}  // namespace impart::models
