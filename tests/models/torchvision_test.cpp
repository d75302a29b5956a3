// Our ResNets against torchvision's: this side writes weights, a batch, logits, gradients of one
// step and running statistics; compare_torchvision.py loads the weights strictly and compares.

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "impart/models/state.h"
#include "impart/tensors/tensor_bytes.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;

constexpr int kSkipped = 77;  // what the script exits with if there is no torchvision

/// Every batch norm gets weights and statistics of its own, so that mixing them up shows.
void perturb_batch_norms(Classifier& model) {
  const torch::NoGradGuard no_grad;
  std::uint32_t stream = 100;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    const std::int64_t channels = layer.channels();
    layer.weight.copy_(random_tensor({channels}, stream++, 0.1, 1));
    layer.bias.copy_(random_tensor({channels}, stream++, 0.1));
    layer.running_mean.copy_(random_tensor({channels}, stream++, 0.1));
    layer.running_var.copy_(random_tensor({channels}, stream++, 0.05, 1));
  });
}

/// Logits and running statistics in float, the type of our own batch norm; gradients in double,
/// where no activation near 0 falls on the other side of it by rounding.
std::vector<NamedTensor> run_model(Classifier& model, std::int64_t image_size) {
  const torch::Tensor images = random_tensor({8, 3, image_size, image_size}, 1);
  const torch::Tensor labels = torch::arange(8) % 10;
  std::vector<NamedTensor> results = {{"images", images}, {"labels", labels}};
  model.eval();
  results.push_back({"eval_logits", model.forward(images).logits.detach()});
  model.train();
  results.push_back({"train_logits", model.forward(images).logits.detach()});
  collapse_running_statistics(model, StatisticsOfRun::kMean);
  for (const auto& item : model.named_buffers()) {
    results.push_back({"buffer." + item.key(), item.value().clone()});
  }
  model.to(torch::kDouble);
  const torch::Tensor logits = model.forward(images.to(torch::kDouble)).logits;
  torch::nll_loss(torch::log_softmax(logits, 1), labels).backward();
  for (const auto& item : model.named_parameters()) {
    results.push_back({"gradient." + item.key(), item.value().grad()});
  }
  return results;
}

void write_case(const std::filesystem::path& folder, Classifier& model, std::int64_t image_size) {
  initialise_parameters(model, 17);
  perturb_batch_norms(model);
  save_model((folder / "model.safetensors").string(), model);
  std::vector<NamedTensor> results = run_model(model, image_size);
  std::vector<TensorView> views;
  for (auto& [name, tensor] : results) {
    tensor = tensor.contiguous();
    views.push_back(tensors::view_of(name, tensor));
  }
  write_safetensors((folder / "results.safetensors").string(), views);
}

void compare(std::string_view name, Stem stem) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("impart-{}-{}", name, ::getpid());
  std::filesystem::create_directories(folder);
  const ModelSpec spec{.classes = 10, .stem = stem};
  write_case(folder, *find_entry(kModels, "model", name).function(spec),
             stem == Stem::kCifar ? 16 : 64);
  const std::filesystem::path script = IMPART_SOURCE_DIR "/tests/models/compare_torchvision.py";
  const auto command = fmt::format("/usr/bin/python3 '{}' {} {} '{}'", script.string(), name,
                                   stem == Stem::kCifar ? "cifar" : "imagenet", folder.string());
  const int status = std::system(command.c_str());
  std::filesystem::remove_all(folder);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no /usr/bin/python3 with torchvision";
  EXPECT_EQ(status, 0);
}

TEST(ResNet, EighteenIsTorchvisions) {
  compare("resnet18", Stem::kImagenet);
}

TEST(ResNet, EighteenWithTheCifarStemIsTorchvisionsWithAnotherStart) {
  compare("resnet18", Stem::kCifar);
}

TEST(ResNet, ThirtyFourIsTorchvisions) {
  compare("resnet34", Stem::kImagenet);
}

TEST(ResNet, FiftyIsTorchvisions) {
  compare("resnet50", Stem::kImagenet);
}

}  // namespace
}  // namespace impart::models
