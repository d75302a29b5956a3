#include "impart/models/foreign_weights.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/core/safetensors.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "impart/models/tensor_lists.h"
#include "impart/tensors/tensor_bytes.h"

namespace impart::models {
namespace {

constexpr std::string_view kTrunk =
    "transformer.";  // what Hugging Face's models without a head lack
constexpr std::string_view kPositions = "transformer.wpe.weight";
constexpr std::string_view kTokens[] = {"transformer.wte.weight", "embedding.weight"};
constexpr std::string_view kHead[] = {"fc.weight", "fc.bias", "lm_head.weight", "head.weight"};

template <std::size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// What goes where.
struct LoadPlan {
  struct Copy {
    torch::Tensor into;
    const TensorView* from;
  };
  std::vector<Copy> copies;
  std::vector<std::string> notes;
};

/// Makes a plan of a file and a model, and collects what does not fit.
class Planner {
 public:
  Planner(const SafetensorsFile& file, torch::nn::Module& model)
      : file_(file), state_(state_of(model)) {}

  LoadPlan plan() {
    for (const NamedTensor& tensor : state_) place(tensor);
    for (const TensorView& tensor : file_.tensors()) {
      if (!used_.contains(&tensor) && !does_not_matter(tensor)) {
        unexpected_.push_back(tensor.name);
      }
    }
    refuse_misfits();
    return std::move(plan_);
  }

 private:
  const TensorView* find(std::string_view name) const {
    const TensorView* found = file_.find(name);
    if (found != nullptr || !name.starts_with(kTrunk)) return found;
    return file_.find(name.substr(kTrunk.size()));
  }

  void place(const NamedTensor& tensor) {
    const TensorView* found = find(tensor.name);
    if (found == nullptr) {
      if (!tensor.name.ends_with(".num_batches_tracked")) missing_.push_back(tensor.name);
      return;
    }
    used_.insert(found);
    const std::vector<std::uint64_t> here = tensors::shape_of(tensor.tensor);
    if (here == found->shape) {
      plan_.copies.push_back({tensor.tensor, found});
    } else if (!adapt(tensor, *found, here)) {
      different_.push_back(fmt::format("{} is [{}], not [{}]", tensor.name,
                                       fmt::join(found->shape, ", "), fmt::join(here, ", ")));
    }
  }

  /// Whether a tensor of another shape is no obstacle.
  bool adapt(const NamedTensor& tensor, const TensorView& found,
             const std::vector<std::uint64_t>& here) {
    const bool only_rows = here.size() == found.shape.size() && !here.empty() &&
                           std::equal(here.begin() + 1, here.end(), found.shape.begin() + 1);
    if (!only_rows) return false;
    if (tensor.name == kPositions) return take_first_positions(tensor, found, here[0]);
    const bool is_tokens = is_one_of(tensor.name, kTokens);
    if (!is_tokens && !is_one_of(tensor.name, kHead)) return false;
    if (here.size() > 1) {
      plan_.notes.push_back(fmt::format(
          "{} is for {} {}, here there are {}: it is replaced, and learned from the start",
          tensor.name, found.shape[0], is_tokens ? "tokens" : "classes", here[0]));
    }
    return true;
  }

  bool take_first_positions(const NamedTensor& tensor, const TensorView& found,
                            std::uint64_t needed) {
    if (found.shape[0] < needed) {
      throw DataError(
          fmt::format("{}: was trained with {} positions, but the run needs {}; take "
                      "data.block={}",
                      file_.path(), found.shape[0], needed, found.shape[0]));
    }
    plan_.copies.push_back({tensor.tensor, &found});
    plan_.notes.push_back(
        fmt::format("the first {} of {} positions are used", needed, found.shape[0]));
    return true;
  }

  bool does_not_matter(const TensorView& tensor) const {
    if (tensor.name.ends_with(".attn.bias") || tensor.name.ends_with(".attn.masked_bias")) {
      return true;
    }
    const TensorView* embedding = find(kTokens[0]);
    return tensor.name == "lm_head.weight" && embedding != nullptr &&
           std::equal(tensor.data.begin(), tensor.data.end(), embedding->data.begin(),
                      embedding->data.end());
  }

  void refuse_misfits() const {
    std::string message;
    append_list(message, "missing", missing_);
    append_list(message, "unexpected", unexpected_);
    append_list(message, "different", different_);
    if (message.empty()) return;
    throw DataError(fmt::format("{}: are not the weights of this model{}{}", file_.path(), message,
                                advise_norm()));
  }

  /// Only batch norms keep means.
  std::string_view advise_norm() const {
    const auto is_mean = [](const std::string& name) { return name.ends_with(".running_mean"); };
    if (std::ranges::any_of(unexpected_, is_mean))
      return "; they have batch norm: model.norm=batch";
    if (std::ranges::any_of(missing_, is_mean))
      return "; they have no batch norm: model.norm=group";
    return "";
  }

  const SafetensorsFile& file_;
  std::vector<NamedTensor> state_;
  std::set<const TensorView*> used_;
  std::vector<std::string> missing_, unexpected_, different_;
  LoadPlan plan_;
};

}  // namespace

std::vector<std::string> load_foreign_weights(const std::string& path, torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  const SafetensorsFile file(path);
  const LoadPlan plan = Planner(file, model).plan();
  for (const LoadPlan::Copy& copy : plan.copies) {
    torch::Tensor values = tensors::copy_of(*copy.from);
    if (values.dim() > 0) values = values.narrow(0, 0, copy.into.size(0));
    torch::Tensor into = copy.into;
    into.copy_(values);
  }
  restart_worker_statistics(model);
  return plan.notes;
}

void check_foreign_weights(const std::string& path, torch::nn::Module& model) {
  const SafetensorsFile file(path);
  Planner(file, model).plan();
}

}  // namespace impart::models
