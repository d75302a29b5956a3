#include "impart/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/data/images/augment.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "tests/models/tensors.h"

namespace impart::train {
namespace {

using testing::random_tensor;
using Protocol = config::EvalConfig::Protocol;

constexpr std::int64_t kExamples = 37, kTestClasses = 4;

feed::DeviceImages make_images() {
  return {
      .pixels = (random_tensor({kExamples, 3, 8, 8}, 1, 60, 128)).clamp(0, 255).to(torch::kByte),
      .labels = torch::arange(kExamples).remainder(kTestClasses),
      .mean = torch::tensor({0.5f, 0.4f, 0.6f}),
      .std = torch::tensor({0.2f, 0.3f, 0.25f})};
}

std::shared_ptr<models::Classifier> make_model() {
  auto model = models::make_small_cnn({.classes = kTestClasses, .image_size = 8});
  models::initialise_parameters(*model, 3);
  return model;
}

/// Lets three workers make a step in training, so that there are statistics of all kinds.
void train_briefly(models::Classifier& model) {
  models::set_worker_layout(
      model, std::make_shared<models::WorkerLayout>(models::WorkerLayout{{0, 5, 9, 20}}));
  model.train();
  model.forward(feed::make_batch(make_images(), torch::arange(20)));
  models::collapse_running_statistics(model, models::StatisticsOfRun::kMean);
}

data::AugmentPlan augment(std::uint32_t epoch) {
  return data::crop_and_flip({.seed = 2, .epoch = epoch, .examples = kExamples, .padding = 2});
}

Evaluation evaluate_alone(models::Classifier& model, const EvaluationSpec& spec) {
  const auto communicator = comm::make_single_communicator();
  const auto feed = feed::make_device_feed(make_images(), augment);
  return evaluate(model, *feed, spec, *communicator);
}

/// Mean loss and accuracy from logits, example by example, in double.
Evaluation score(const torch::Tensor& logits) {
  const auto labels = make_images().labels;
  Evaluation result;
  for (std::int64_t i = 0; i < kExamples; ++i) {
    const auto row = logits[i].to(torch::kDouble);
    const auto label = labels[i].item<std::int64_t>();
    result.loss += (row.logsumexp(0) - row[label]).item<double>() / kExamples;
    if (row.argmax().item<std::int64_t>() == label) result.accuracy += 100.0 / kExamples;
  }
  return result;
}

void expect_near(const Evaluation& a, const Evaluation& b) {
  EXPECT_NEAR(a.loss, b.loss, 1e-5);
  EXPECT_NEAR(a.accuracy, b.accuracy, 1e-9);
}

/// Parameters, running statistics and statistics of the workers.
std::vector<torch::Tensor> copy_state(models::Classifier& model) {
  std::vector<torch::Tensor> tensors;
  for (const models::NamedTensor& named : models::state_of(model))
    tensors.push_back(named.tensor.clone());
  models::visit_batch_norms(model, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    tensors.push_back(layer.worker_mean().clone());
    tensors.push_back(layer.worker_variance().clone());
  });
  return tensors;
}

void expect_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << i;
}

TEST(Evaluation, CleanIsWhatTheModelSaysInEvaluationMode) {
  const auto model = make_model();
  train_briefly(*model);
  model->eval();
  const auto logits =
      model->forward(feed::make_batch(make_images(), torch::arange(kExamples))).logits;
  const Evaluation expected = score(logits);
  EXPECT_GT(expected.accuracy, 0);
  EXPECT_LT(expected.accuracy, 100);
  for (const std::uint32_t batch : {1u, 16u, 37u, 256u}) {
    expect_near(evaluate_alone(*model, {.batch = batch, .hosted_workers = 3}), expected);
  }
}

TEST(Evaluation, CleanChangesNothingAndEndsInTraining) {
  const auto model = make_model();
  train_briefly(*model);
  const auto before = copy_state(*model);
  evaluate_alone(*model, {.batch = 16, .hosted_workers = 3});
  expect_equal(copy_state(*model), before);
  EXPECT_TRUE(model->is_training());
}

/// The logits of batches of 16 that are normalised by their own statistics.
torch::Tensor logits_by_batch_statistics(const torch::Tensor& augmentation) {
  const auto model = make_model();
  std::vector<torch::Tensor> logits;
  for (std::int64_t start = 0; start < kExamples; start += 16) {
    const auto ids = torch::arange(start, std::min(start + 16, kExamples));
    logits.push_back(model->forward(feed::make_batch(make_images(), ids, augmentation)).logits);
  }
  return torch::cat(logits);
}

TEST(Evaluation, AsInThePaperNormalisesByTheTestBatchAndAugments) {
  const auto model = make_model();
  train_briefly(*model);
  const auto augmentation = feed::put_on_device(augment(6), torch::kCPU);
  const EvaluationSpec spec{
      .protocol = Protocol::kPaper, .batch = 16, .hosted_workers = 3, .epoch = 6};
  const Evaluation paper = evaluate_alone(*model, spec);
  expect_near(paper, score(logits_by_batch_statistics(augmentation)));
  EXPECT_GT(std::abs(paper.loss - score(logits_by_batch_statistics({})).loss), 1e-3);
  const Evaluation clean = evaluate_alone(*model, {.batch = 16, .hosted_workers = 3});
  EXPECT_GT(std::abs(paper.loss - clean.loss), 1e-3);
}

TEST(Evaluation, AsInThePaperLeavesAllStatisticsAsTheyWere) {
  const auto model = make_model();
  train_briefly(*model);
  const auto before = copy_state(*model);
  std::vector<std::shared_ptr<const models::WorkerLayout>> layouts;
  const auto collect = [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    layouts.push_back(layer.layout());
  };
  models::visit_batch_norms(*model, collect);
  const Evaluation clean = evaluate_alone(*model, {.batch = 16, .hosted_workers = 3});
  evaluate_alone(*model, {.protocol = Protocol::kPaper, .batch = 16, .hosted_workers = 3});
  expect_equal(copy_state(*model), before);
  EXPECT_TRUE(model->is_training());
  const auto layouts_before = std::exchange(layouts, {});
  models::visit_batch_norms(*model, collect);
  EXPECT_EQ(layouts, layouts_before);
  expect_near(evaluate_alone(*model, {.batch = 16, .hosted_workers = 3}), clean);
}

TEST(Evaluation, AsInThePaperWorksBeforeTheFirstStep) {
  const auto model = make_model();
  const EvaluationSpec spec{.protocol = Protocol::kPaper, .batch = 16, .hosted_workers = 3};
  Evaluation paper;
  ASSERT_NO_THROW(paper = evaluate_alone(*model, spec));
  expect_near(paper,
              score(logits_by_batch_statistics(feed::put_on_device(augment(0), torch::kCPU))));
  models::visit_batch_norms(*model, [](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    EXPECT_FALSE(layer.worker_mean().defined());
  });
}

}  // namespace
}  // namespace impart::train
