#pragma once

#include <string>

#include "impart/core/safetensors.h"

namespace torch::nn {
class Module;
}

namespace impart::models {

/// Saves all parameters and buffers as safetensors, under PyTorch's names and in the order of its
/// state_dict: `model.load_state_dict(safetensors.torch.load_file(path))` loads them. IoError.
void save_model(const std::string& path, torch::nn::Module& model,
                const TensorMetadata& metadata = {});

/// Loads what save_model or Python's safetensors.torch.save_file wrote into a model of the same
/// kind, on any device, and restarts the workers' batch-norm statistics from the loaded ones.
/// Strict: DataError that names the tensors that are missing, unexpected, or of another shape or
/// type; the model is then unchanged.
void load_model(const std::string& path, torch::nn::Module& model);

}  // namespace impart::models
