#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <torch/types.h>

#include "impart/data/dataset.h"

namespace impart::feed {

class DeviceCopies;

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

/// The data set of a run.
struct LoadedData {
  data::Dataset dataset;
  /// A program's own, in which case the data set has their labels and truth, but no payloads.
  std::shared_ptr<const TensorData> tensors = nullptr;
  /// Where its images are on devices already, or will be for others; null: they are this run's own.
  std::shared_ptr<DeviceCopies> copies = nullptr;

  bool in_memory() const { return tensors || dataset.in_memory(); }
  std::uint64_t payload_bytes() const;  ///< of all training examples together
};

/// The data set that a program brings along for a run (RunSpec::own_data). Images can be augmented,
/// and opened ones are read, moved and counted by a store; tensors can be anything.
struct OwnData {
  std::variant<data::ImageData, data::ExampleData, data::TextData, TensorData, data::Dataset> sets;
};

/// What a run takes of it. DataError if it does not hold together: other numbers of labels than of
/// examples, a label that is no class. Reads every label once. `name` is for messages.
LoadedData take_own_data(OwnData data, const std::string& name);

}  // namespace impart::feed
