#include "impart/feed/own_data.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"

namespace impart::feed {
namespace {

/// "own data, training set: ..."
[[noreturn]] void refuse(std::string_view part, const std::string& reason) {
  throw DataError(fmt::format("own data, {} set: {}", part, reason));
}

void check_labels(std::string_view part, std::span<const std::uint32_t> labels,
                  std::uint64_t examples, std::uint32_t classes) {
  if (labels.size() != examples) {
    refuse(part, fmt::format("{} examples, but {} labels", examples, labels.size()));
  }
  const auto wrong = std::find_if(labels.begin(), labels.end(),
                                  [&](std::uint32_t label) { return label >= classes; });
  if (wrong == labels.end()) return;
  refuse(part, fmt::format("example {} has label {}, but there are {} classes",
                           wrong - labels.begin(), *wrong, classes));
}

void check_truth(const std::vector<float>& truth, std::uint64_t examples) {
  if (truth.empty() || truth.size() == examples) return;
  refuse("training", fmt::format("{} examples, but the truth of {}", examples, truth.size()));
}

void check(std::string_view part, const data::ImageSet& set) {
  check_labels(part, set.labels, set.count, set.classes);
  if (set.pixels.size() != set.count * set.image_bytes()) {
    refuse(part, fmt::format("{} bytes of pixels; {} images of {} x {} x {} have {}",
                             set.pixels.size(), set.count, set.channels, set.height, set.width,
                             set.count * set.image_bytes()));
  }
  if (set.mean.size() != set.channels || set.std.size() != set.channels) {
    refuse(part, fmt::format("mean and std have {} and {} numbers for {} channels; see "
                             "measure_channels",
                             set.mean.size(), set.std.size(), set.channels));
  }
}

void check(std::string_view part, const data::ExampleSet& set) {
  if (!set.payloads || !set.decoder) refuse(part, "it has no payloads or no decoder");
  check_labels(part, set.labels, set.payloads->examples(), set.classes);
}

void check(std::string_view part, const TensorSet& set, std::uint32_t classes) {
  if (!set.inputs.defined() || !set.targets.defined()) refuse(part, "a tensor is undefined");
  if (!set.inputs.device().is_cpu() || !set.targets.device().is_cpu()) {
    refuse(part, "its tensors must be on the CPU; the run copies them to its device");
  }
  if (set.inputs.dim() < 1 || set.targets.dim() != 1 || set.inputs.size(0) != set.targets.size(0)) {
    refuse(part, fmt::format("inputs of shape {} and targets of shape {}; expected [N, ...] and "
                             "[N]",
                             c10::str(set.inputs.sizes()), c10::str(set.targets.sizes())));
  }
  if (set.targets.scalar_type() != torch::kInt64) {
    refuse(part,
           fmt::format("targets are {}; expected int64", c10::toString(set.targets.scalar_type())));
  }
  const torch::Tensor wrong =
      set.targets.lt(0).logical_or(set.targets.ge(std::int64_t{classes})).nonzero();
  if (wrong.size(0) == 0) return;
  const auto first = wrong[0][0].item<std::int64_t>();
  refuse(part, fmt::format("example {} has target {}, but there are {} classes", first,
                           set.targets[first].item<std::int64_t>(), classes));
}

std::vector<std::uint32_t> labels_of(const TensorSet& set) {
  const torch::Tensor targets = set.targets.contiguous();
  const auto* labels = targets.data_ptr<std::int64_t>();
  return {labels, labels + targets.size(0)};
}

LoadedData view_tensors(TensorData data) {
  LoadedData loaded;
  data::ExampleSet& train = loaded.dataset.train;
  train = {.classes = data.classes, .labels = labels_of(data.train), .truth = data.truth};
  loaded.dataset.test = {.classes = data.classes, .labels = labels_of(data.test)};
  loaded.dataset.input = data::Input::kTensors;
  const torch::Tensor& inputs = data.train.inputs;
  if (inputs.dim() == 4) {
    train.channels = static_cast<std::uint32_t>(inputs.size(1));
    train.height = static_cast<std::uint32_t>(inputs.size(2));
    train.width = static_cast<std::uint32_t>(inputs.size(3));
  }
  loaded.tensors = std::make_shared<const TensorData>(std::move(data));
  return loaded;
}

LoadedData take(data::ImageData data, const std::string& name) {
  check("training", data.train);
  check("test", data.test);
  check_truth(data.train.truth, data.train.count);
  return {data::dataset_of(std::move(data), name)};
}

LoadedData take(data::ExampleData data, const std::string&) {
  check("training", data.train);
  check("test", data.test);
  check_truth(data.train.truth, data.train.count());
  return {data::dataset_of(std::move(data))};
}

LoadedData take(data::TextData data, const std::string&) {
  return {data::dataset_of(std::move(data))};
}

LoadedData take(TensorData data, const std::string&) {
  check("training", data.train, data.classes);
  check("test", data.test, data.classes);
  check_truth(data.truth, static_cast<std::uint64_t>(data.train.inputs.size(0)));
  return view_tensors(std::move(data));
}

LoadedData take(data::Dataset data, const std::string&) {
  return {std::move(data)};
}

}  // namespace

std::uint64_t LoadedData::payload_bytes() const {
  return tensors ? tensors->train.inputs.nbytes() : data::payload_bytes(*dataset.train.payloads);
}

LoadedData take_own_data(OwnData data, const std::string& name) {
  return std::visit([&](auto&& sets) { return take(std::move(sets), name); }, std::move(data.sets));
}

}  // namespace impart::feed
