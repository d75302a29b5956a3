#include "impart/models/layers/worker_statistics.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/classifier.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

std::shared_ptr<Classifier> small_model() {
  auto model = make_small_cnn({.classes = 4, .image_size = 8});
  initialise_parameters(*model, 5);
  return model;
}

/// A model after a step with workers of 2, 0 and 4 rows.
std::shared_ptr<Classifier> stepped_model() {
  auto model = small_model();
  set_worker_layout(*model, std::make_shared<WorkerLayout>(WorkerLayout{{0, 2, 2, 6}}));
  model->forward(random_tensor({6, 3, 8, 8}, 1));
  return model;
}

std::vector<WorkerBatchNorm2dImpl*> layers_of(Classifier& model) {
  std::vector<WorkerBatchNorm2dImpl*> layers;
  visit_batch_norms(model, [&](const std::string&, auto& layer) { layers.push_back(&layer); });
  return layers;
}

TEST(WorkerStatistics, VisitsBatchNormsInTheOrderOfTheParameters) {
  std::vector<std::string> names;
  auto model = make_resnet18({});
  visit_batch_norms(*model, [&](const std::string& name, auto&) { names.push_back(name); });
  ASSERT_EQ(names.size(), 20u);
  EXPECT_EQ(names[0], "bn1");
  EXPECT_EQ(names[1], "layer1.0.bn1");
  EXPECT_EQ(names[7], "layer2.0.downsample.1");
}

TEST(WorkerStatistics, CollapseToTheirMean) {
  auto model = stepped_model();
  collapse_running_statistics(*model, StatisticsOfRun::kMean);
  for (const auto* layer : layers_of(*model)) {
    EXPECT_LT(relative_distance(layer->running_mean, layer->worker_mean().mean(0)), 1e-6);
    EXPECT_LT(relative_distance(layer->running_var, layer->worker_variance().mean(0)), 1e-6);
    EXPECT_GT(relative_distance(layer->running_mean, layer->worker_mean()[0]), 1e-3);
  }
}

TEST(WorkerStatistics, CollapseToWorkerZero) {
  auto model = stepped_model();
  collapse_running_statistics(*model, StatisticsOfRun::kWorker0);
  for (const auto* layer : layers_of(*model)) {
    EXPECT_TRUE(torch::equal(layer->running_mean, layer->worker_mean()[0]));
    EXPECT_TRUE(torch::equal(layer->running_var, layer->worker_variance()[0]));
  }
}

TEST(WorkerStatistics, AddUpOverProcesses) {
  const torch::Tensor images = random_tensor({6, 3, 8, 8}, 1);
  auto together = small_model(), first = small_model(), second = small_model();
  set_worker_layout(*together, std::make_shared<WorkerLayout>(WorkerLayout{{0, 1, 3, 6}}));
  set_worker_layout(*first, std::make_shared<WorkerLayout>(WorkerLayout{{0, 1, 3}}));
  together->forward(images);
  first->forward(images.narrow(0, 0, 3));
  second->forward(images.narrow(0, 3, 3));
  collapse_running_statistics(*together, StatisticsOfRun::kMean);
  const auto sum = sum_worker_statistics(*first) + sum_worker_statistics(*second);
  EXPECT_EQ(sum.size(0), 2 * (32 + 64 + 128));
  set_running_statistics(*second, sum / 3);
  const auto expected = layers_of(*together), actual = layers_of(*second);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(relative_distance(actual[i]->running_mean, expected[i]->running_mean), 1e-5);
    EXPECT_LT(relative_distance(actual[i]->running_var, expected[i]->running_var), 1e-5);
  }
}

TEST(WorkerStatistics, AreTheRegisteredOnesBeforeTraining) {
  auto model = small_model();
  for (auto* layer : layers_of(*model)) layer->running_mean.fill_(2);
  collapse_running_statistics(*model, StatisticsOfRun::kMean);
  for (auto* layer : layers_of(*model)) EXPECT_EQ(layer->running_mean[0].item<float>(), 2);
}

TEST(WorkerStatistics, RefuseAnotherLength) {
  EXPECT_THROW(set_running_statistics(*small_model(), torch::zeros({3})), ConfigError);
}

TEST(WorkerStatistics, OfAModelWithoutBatchNormAreEmpty) {
  auto model = make_mlp({});
  EXPECT_EQ(sum_worker_statistics(*model).numel(), 0);
  EXPECT_NO_THROW(collapse_running_statistics(*model, StatisticsOfRun::kWorker0));
}

/// Loss of the examples, summed, so that losses of workers add up.
torch::Tensor summed_loss(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nll_loss(torch::log_softmax(logits, 1), labels, {}, at::Reduction::Sum);
}

TEST(StackedWorkers, TrainLikeReplicasThatAreAveragedByHand) {
  const WorkerLayout layout{{0, 4, 9, 9, 12}};
  const torch::Tensor images = random_tensor({12, 3, 8, 8}, 3);
  const torch::Tensor labels = torch::arange(12) % 4;
  auto stacked = small_model();
  set_worker_layout(*stacked, std::make_shared<WorkerLayout>(layout));
  const auto output = stacked->forward(images);
  (summed_loss(output.logits, labels) / 12).backward();

  // Replicas built from torch's own modules; a Sequential's modules have the same order.
  namespace nn = torch::nn;
  const auto convolution = [](int in, int out) {
    return nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
  };
  std::vector<torch::Tensor> sums;
  for (std::int64_t w = 0; w < layout.workers(); ++w) {
    if (layout.rows(w) == 0) continue;
    nn::Sequential replica(convolution(3, 32), nn::BatchNorm2d(32), nn::ReLU(), nn::MaxPool2d(2),
                           convolution(32, 64), nn::BatchNorm2d(64), nn::ReLU(), nn::MaxPool2d(2),
                           convolution(64, 128), nn::BatchNorm2d(128), nn::ReLU(),
                           nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(128, 4));
    const auto parameters = replica->parameters(), ours = stacked->parameters();
    ASSERT_EQ(parameters.size(), ours.size());
    {
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < ours.size(); ++i) parameters[i].copy_(ours[i]);
    }
    const auto rows = [&](const torch::Tensor& all) {
      return all.narrow(0, layout.starts[w], layout.rows(w));
    };
    const torch::Tensor logits = replica->forward(rows(images));
    EXPECT_LT(relative_distance(rows(output.logits), logits), 1e-5);
    summed_loss(logits, rows(labels)).backward();
    sums.resize(ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      sums[i] = sums[i].defined() ? sums[i] + parameters[i].grad() : parameters[i].grad().clone();
    }
    const auto norms = layers_of(*stacked);
    const auto buffers = replica->named_buffers();
    EXPECT_LT(relative_distance(norms[2]->worker_mean()[w], buffers["9.running_mean"]), 1e-5);
    EXPECT_LT(relative_distance(norms[2]->worker_variance()[w], buffers["9.running_var"]), 1e-5);
  }
  const auto parameters = stacked->parameters();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_LT(relative_distance(parameters[i].grad(), sums[i] / 12), 1e-5) << i;
  }
}

}  // namespace
}  // namespace impart::models
