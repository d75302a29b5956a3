#include "impart/models/state.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "impart/models/tensor_lists.h"
#include "impart/tensors/tensor_bytes.h"

namespace impart::models {
namespace {

std::string describe(ElementType type, std::span<const std::uint64_t> shape) {
  return fmt::format("{} [{}]", name_of(type), fmt::join(shape, ", "));
}

void check_match(const SafetensorsFile& file, std::span<const NamedTensor> state) {
  std::vector<std::string> missing, unexpected, different;
  std::set<std::string_view> expected;
  for (const auto& [name, tensor] : state) {
    expected.insert(name);
    const TensorView* found = file.find(name);
    if (found == nullptr) {
      missing.push_back(name);
      continue;
    }
    const std::string here = describe(tensors::element_type(tensor), tensors::shape_of(tensor));
    const std::string there = describe(found->type, found->shape);
    if (here != there) different.push_back(fmt::format("{} is {}, not {}", name, there, here));
  }
  for (const TensorView& tensor : file.tensors()) {
    if (!expected.contains(tensor.name)) unexpected.push_back(tensor.name);
  }
  std::string message;
  append_list(message, "missing", missing);
  append_list(message, "unexpected", unexpected);
  append_list(message, "different", different);
  if (message.empty()) return;
  throw DataError(fmt::format("{}: not this model's parameters{}", file.path(), message));
}

}  // namespace

void save_model(const std::string& path, torch::nn::Module& model, const TensorMetadata& metadata) {
  std::vector<torch::Tensor> copies;
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : state_of(model)) {
    copies.push_back(tensor.detach().cpu().contiguous());
    views.push_back(tensors::view_of(name, copies.back()));
  }
  TensorMetadata labelled = metadata;
  labelled.emplace("format", "pt");
  write_safetensors(path, views, labelled);
}

void load_model(const std::string& path, torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  const SafetensorsFile file(path);
  const std::vector<NamedTensor> state = state_of(model);
  check_match(file, state);
  for (auto [name, tensor] : state) tensor.copy_(tensors::copy_of(*file.find(name)));
  restart_worker_statistics(model);
}

}  // namespace impart::models
