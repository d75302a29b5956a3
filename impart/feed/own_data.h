#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <torch/types.h>

#include "impart/config/config.h"
#include "impart/data/images/image_set.h"
#include "impart/data/payloads/example_set.h"
#include "impart/data/text/token_set.h"

namespace impart::feed {

/// Examples as tensors on the CPU: example i is row i of both.
struct TensorSet {
  torch::Tensor inputs;   ///< [N, ...], of any type: batches of rows are what the model is given
  torch::Tensor targets;  ///< int64 [N], the class of each, from 0 upwards
};

/// Examples of a program's own, all in memory on every process; they are not augmented.
struct TensorData {
  TensorSet train, test;
  std::uint32_t classes = 0;
  std::vector<float> truth = {};  ///< of training examples, as in ImageSet
};

/// The data set of a run: images, all in memory or opened, to be read as they are needed; text; or
/// tensors.
using LoadedData = std::variant<data::ImageData, data::ExampleData, data::TextData, TensorData>;

/// The data set that a program brings along for a run (RunSpec::own_data). Images can be augmented,
/// and opened ones are read, moved and counted by a store; tensors can be anything.
struct OwnData {
  LoadedData sets;
};

/// What a run takes of it. DataError if it does not hold together: other numbers of labels than of
/// examples, a label that is no class. Reads every label once.
LoadedData take_own_data(OwnData data, const config::RunConfig& config);

}  // namespace impart::feed
