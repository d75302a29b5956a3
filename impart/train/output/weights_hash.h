#pragma once

#include <string>

namespace torch::nn {
class Module;
}

namespace impart::train {

/// SHA-256, as 64 hex digits, of the names and bytes of a model's parameters and running statistics
/// in the order of its state: equal for equal models, whatever the machine or file format.
std::string hash_weights(torch::nn::Module& model);

}  // namespace impart::train
