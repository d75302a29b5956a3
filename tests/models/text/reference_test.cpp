// Our models of text against plain ones in Python: this side writes weights, a batch, logits and
// the gradients of one step; compare_models.py loads the weights strictly and compares.

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/losses.h"
#include "impart/models/module_tree.h"
#include "impart/models/state.h"
#include "impart/models/text/text_models.h"
#include "impart/tensors/tensor_bytes.h"
#include "tests/models/tensors.h"
#include "tests/models/text/cases.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::random_tokens;

constexpr int kSkipped = 77;  // what the script exits with if there is no torch
constexpr TextModelSpec kSpec{.vocabulary = 83, .length = 48, .classes = 4};

/// Weights that are no longer near zero, and norms and biases of their own, so that mixing them up
/// shows.
void perturb(Classifier& model) {
  const torch::NoGradGuard no_grad;
  std::uint32_t stream = 100;
  for (torch::Tensor& parameter : model.parameters()) {
    parameter.add_(random_tensor(parameter.sizes(), stream++, 0.1));
  }
}

std::vector<NamedTensor> run_model(const TextModelEntry& entry, Classifier& model) {
  const bool language = testing::is_language_model(entry.name);
  torch::Tensor ids = random_tokens({6, 48}, 83, 1);
  if (!language) ids[1].narrow(0, 20, 28).fill_(kSpec.pad);
  torch::Tensor targets = language ? random_tokens({6, 48}, 83, 2) : torch::arange(6) % 4;
  if (language) targets[2].narrow(0, 30, 18).fill_(kNoTarget);
  const torch::Tensor logits = model.forward(ids).logits;
  example_losses(logits, targets).mean().backward();
  std::vector<NamedTensor> results = {
      {"ids", ids}, {"targets", targets}, {"logits", logits.detach()}};
  for (const auto& item : model.named_parameters()) {
    results.push_back({"gradient." + item.key(), item.value().grad()});
  }
  return results;
}

void write_case(const std::filesystem::path& folder, const TextModelEntry& entry, bool tied) {
  TextModelSpec spec = kSpec;
  spec.tied = tied;
  auto model = entry.function(spec);
  initialise_parameters(*model, 17);
  perturb(*model);
  save_model((folder / "model.safetensors").string(), *model);
  std::vector<NamedTensor> results = run_model(entry, *model);
  std::vector<TensorView> views;
  for (auto& [name, tensor] : results) {
    tensor = tensor.contiguous();
    views.push_back(tensors::view_of(name, tensor));
  }
  write_safetensors((folder / "results.safetensors").string(), views);
}

TEST(Reference, HasTheSameLogitsAndGradients) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("impart-text-models-{}", ::getpid());
  std::string command = fmt::format("/usr/bin/python3 '{}'", IMPART_COMPARE_MODELS);
  for (const TextModelEntry& entry : testing::small_text_models()) {
    for (const bool tied : {true, false}) {
      if (!tied && !testing::is_language_model(entry.name)) continue;
      const auto place = folder / fmt::format("{}-{}", entry.name, tied);
      std::filesystem::create_directories(place);
      write_case(place, entry, tied);
      command += fmt::format(" {} '{}'", entry.name, place.string());
    }
  }
  const int status = std::system(command.c_str());
  std::filesystem::remove_all(folder);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no /usr/bin/python3 with torch";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace impart::models
