#include "impart/models/module_tree.h"

namespace impart::models {
namespace {

void visit_below(
    torch::nn::Module& module, const std::string& name,
    const std::function<void(const std::string& name, torch::nn::Module& module)>& visit) {
  visit(name, module);
  for (const auto& child : module.named_children()) {
    visit_below(*child.value(), name.empty() ? child.key() : name + "." + child.key(), visit);
  }
}

}  // namespace

void visit_modules(
    torch::nn::Module& root,
    const std::function<void(const std::string& name, torch::nn::Module& module)>& visit) {
  visit_below(root, "", visit);
}

std::vector<NamedTensor> state_of(torch::nn::Module& model) {
  std::vector<NamedTensor> state;
  visit_modules(model, [&](const std::string& name, torch::nn::Module& module) {
    const std::string prefix = name.empty() ? "" : name + ".";
    for (const auto& item : module.named_parameters(/*recurse=*/false)) {
      state.push_back({prefix + item.key(), item.value()});
    }
    for (const auto& item : module.named_buffers(/*recurse=*/false)) {
      state.push_back({prefix + item.key(), item.value()});
    }
  });
  return state;
}

}  // namespace impart::models
