#pragma once

#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace impart::models {

// Weights that were not trained for this very model: of torchvision's ResNets, of Hugging Face's
// GPT-2 (with or without its head), or of a model of impart with other classes. Names are
// PyTorch's, as in state.h; element types are converted.
//
// What may differ:
//   the last layer (fc) and the embedding of tokens, in the number of classes or tokens: they stay
//     as they were drawn;
//   the embedding of positions may have more rows than are needed: the first are taken;
//   a head in the file that is the embedding again, Hugging Face's attention masks, and missing
//     counters of batches, do not matter.

/// Loads the file, and says in a sentence each what was not taken from it. DataError that names the
/// tensors that are missing, unexpected or of another shape; the model is then unchanged.
std::vector<std::string> load_foreign_weights(const std::string& path, torch::nn::Module& model);

/// The same without loading anything.
void check_foreign_weights(const std::string& path, torch::nn::Module& model);

}  // namespace impart::models
