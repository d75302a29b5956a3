#include "impart/models/layers/worker_batch_norm.h"

#include <cmath>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

constexpr double kEpsilon = 1e-5;

struct Gradients {
  torch::Tensor output, input, weight, bias;
};

struct Case {
  torch::Tensor x, weight, bias, grad_output;
};

Case make_case(const std::vector<std::int64_t>& shape, double scale = 1, double shift = 0) {
  return {random_tensor(shape, 1, scale, shift), random_tensor({shape[1]}, 2),
          random_tensor({shape[1]}, 3), random_tensor(shape, 4)};
}

/// Runs forward and backward of `norm`(x, weight, bias) in the given type.
template <class Norm>
Gradients differentiate(const Case& c, torch::ScalarType type, Norm&& norm) {
  const auto leaf = [&](const torch::Tensor& t) {
    return t.to(type).clone().detach().requires_grad_(true);
  };
  const torch::Tensor x = leaf(c.x), weight = leaf(c.weight), bias = leaf(c.bias);
  const torch::Tensor output = norm(x, weight, bias);
  output.backward(c.grad_output.to(type));
  return {output.detach(), x.grad(), weight.grad(), bias.grad()};
}

Gradients ours(const Case& c, const WorkerLayout& layout, torch::ScalarType type = torch::kFloat) {
  return differentiate(c, type, [&](auto& x, auto& weight, auto& bias) {
    return normalise_by_worker(x, weight, bias, layout, kEpsilon).output;
  });
}

/// The definition: torch's own batch norm on every worker's rows, in double.
Gradients reference(const Case& c, const WorkerLayout& layout) {
  return differentiate(c, torch::kDouble, [&](auto& x, auto& weight, auto& bias) {
    std::vector<torch::Tensor> parts;
    for (std::int64_t w = 0; w < layout.workers(); ++w) {
      const torch::Tensor rows = x.narrow(0, layout.starts[w], layout.rows(w));
      if (layout.rows(w) == 0) continue;
      parts.push_back(torch::batch_norm(rows, weight, bias, {}, {}, true, 0.1, kEpsilon, false));
    }
    return torch::cat(parts);
  });
}

void expect_close(const Gradients& a, const Gradients& b, double tolerance) {
  EXPECT_LT(relative_distance(a.output, b.output), tolerance);
  EXPECT_LT(relative_distance(a.input, b.input), tolerance);
  EXPECT_LT(relative_distance(a.weight, b.weight), tolerance);
  EXPECT_LT(relative_distance(a.bias, b.bias), tolerance);
}

const std::vector<std::vector<std::int64_t>> kShapes = {
    {16, 5, 3, 3},   {16, 64, 16, 16}, {16, 600, 1, 1},
    {16, 33},        {16, 3, 33, 40},  // planes longer than the kernel keeps columns
    {16, 2, 32, 32}, {16, 7, 1, 300},  {16, 1, 2, 2},
};

TEST(WorkerBatchNorm, OfOneWorkerIsTorchsBatchNorm) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(torch::IntArrayRef(shape));
    const Case c = make_case(shape);
    const WorkerLayout all{.starts = {0, shape[0]}};
    expect_close(ours(c, all), reference(c, all), 1e-5);
  }
}

TEST(WorkerBatchNorm, KeepsUnevenWorkersApart) {
  const WorkerLayout layout{.starts = {0, 5, 5, 7, 14, 16, 16}};
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(torch::IntArrayRef(shape));
    const Case c = make_case(shape);
    expect_close(ours(c, layout), reference(c, layout), 1e-5);
  }
}

TEST(WorkerBatchNorm, DoesNotMixWorkersOfDifferentScales) {
  const WorkerLayout layout{.starts = {0, 8, 16}};
  Case c = make_case({16, 6, 4, 4});
  c.x.narrow(0, 8, 8).mul_(100).add_(1000);
  expect_close(ours(c, layout), reference(c, layout), 1e-5);
  const auto output = ours(c, layout).output;
  const auto [variance, mean] = torch::var_mean(output.narrow(0, 8, 8), {0, 2, 3}, false);
  EXPECT_LT(relative_distance(mean, c.bias), 1e-4);
  EXPECT_LT(relative_distance(variance.sqrt(), c.weight.abs()), 1e-4);
}

TEST(WorkerBatchNorm, StaysAccurateFarFromZero) {
  const Case c = make_case({32, 4, 8, 8}, 1, 300);
  const WorkerLayout layout{.starts = {0, 20, 32}};
  expect_close(ours(c, layout), reference(c, layout), 1e-4);
}

TEST(WorkerBatchNorm, OfOtherTypesSlicesTheBatch) {
  const WorkerLayout layout{.starts = {0, 5, 5, 7, 14, 16}};
  const Case c = make_case({16, 6, 5, 4});
  expect_close(ours(c, layout, torch::kDouble), reference(c, layout), 1e-12);
}

TEST(WorkerBatchNorm, OfOtherTypesTakesManyWorkersForChannels) {
  const WorkerLayout layout{.starts = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}};
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{20, 6, 5, 4}, {20, 6}}) {
    const Case c = make_case(shape);
    expect_close(ours(c, layout, torch::kDouble), reference(c, layout), 1e-12);
  }
}

TEST(WorkerBatchNorm, GivesTheSameMomentsEverywhere) {
  const Case c = make_case({20, 6, 5, 4}, 2, 1);
  const WorkerLayout uneven{.starts = {0, 3, 3, 20}};
  const WorkerLayout even{.starts = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}};
  for (const WorkerLayout& layout : {uneven, even}) {
    const auto narrow = normalise_by_worker(c.x, c.weight, c.bias, layout, kEpsilon).moments;
    const auto wide = normalise_by_worker(c.x.to(torch::kDouble), c.weight.to(torch::kDouble),
                                          c.bias.to(torch::kDouble), layout, kEpsilon)
                          .moments;
    EXPECT_LT(relative_distance(narrow.mean, wide.mean), 1e-6);
    EXPECT_LT(relative_distance(narrow.variance, wide.variance), 1e-6);
  }
}

TEST(WorkerBatchNorm, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case c = make_case({64, 32, 8, 8});
  const WorkerLayout layout{.starts = {0, 30, 31, 64}};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Gradients one = ours(c, layout);
  at::set_num_threads(4);
  const Gradients four = ours(c, layout);
  at::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(one.output, four.output));
  EXPECT_TRUE(torch::equal(one.input, four.input));
  EXPECT_TRUE(torch::equal(one.weight, four.weight));
}

TEST(WorkerBatchNorm, AcceptsInputThatIsNotContiguous) {
  Case c = make_case({16, 6, 5, 4});
  const WorkerLayout layout{.starts = {0, 6, 16}};
  const Gradients expected = ours(c, layout);
  c.x = c.x.contiguous(torch::MemoryFormat::ChannelsLast);
  c.grad_output = c.grad_output.contiguous(torch::MemoryFormat::ChannelsLast);
  expect_close(ours(c, layout), expected, 1e-7);
}

TEST(WorkerBatchNorm, RefusesALayoutThatIsNotTheBatch) {
  const Case c = make_case({4, 2, 1, 1});
  const std::vector<std::vector<std::int64_t>> wrong = {{},     {0},          {0, 3},
                                                        {1, 4}, {0, 3, 2, 4}, {0, 5}};
  for (const auto& starts : wrong) {
    EXPECT_THROW(normalise_by_worker(c.x, c.weight, c.bias, WorkerLayout{starts}, kEpsilon),
                 ConfigError);
  }
}

/// Adds the sums of rows that are in another pass: first of the forward pass, then of the backward.
class OtherHalf final : public SharedSums {
 public:
  explicit OtherHalf(std::vector<torch::Tensor> sums) : sums_(std::move(sums)) {}
  void add_up(std::span<double> sums, std::int64_t width) override {
    const torch::Tensor others = sums_.at(calls_++).contiguous();
    ASSERT_EQ(others.numel(), width);
    ASSERT_EQ(sums.size(), static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others.data_ptr<double>()[i];
  }

 private:
  std::vector<torch::Tensor> sums_;
  std::size_t calls_ = 0;
};

TEST(WorkerBatchNorm, NormalisesAPartOfABatchAsTheWholeIfSumsAreShared) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(torch::IntArrayRef(shape));
    const Case whole = make_case(shape, 2, 3);
    const Gradients expected = reference(whole, {.starts = {0, 16}});
    const auto per_channel = [](const torch::Tensor& t) {  // [C, values]
      return t.to(torch::kDouble).transpose(0, 1).flatten(1);
    };
    const torch::Tensor x = per_channel(whole.x), centred = x - x.mean(1, true);
    const torch::Tensor grad = per_channel(whole.grad_output);
    const std::int64_t split = x.size(1) / 16 * 6;  // six rows are here
    const auto there = [&](const torch::Tensor& t) {
      return t.narrow(1, split, t.size(1) - split).sum(1);
    };
    OtherHalf others({torch::cat({there(x), there(x.square())}),
                      torch::cat({there(grad), there(grad * centred)})});
    const Case here{whole.x.narrow(0, 0, 6), whole.weight, whole.bias,
                    whole.grad_output.narrow(0, 0, 6)};
    const Gradients found = ours(here, {.starts = {0, 6}, .shared = &others, .shared_rows = {16}});
    EXPECT_LT(relative_distance(found.output, expected.output.narrow(0, 0, 6)), 1e-5);
    EXPECT_LT(relative_distance(found.input, expected.input.narrow(0, 0, 6)), 1e-4);
    const torch::Tensor deviation = (centred.square().mean(1) + kEpsilon).sqrt();
    const torch::Tensor by_weight = (grad * centred).narrow(1, 0, split).sum(1) / deviation;
    EXPECT_LT(relative_distance(found.weight, by_weight), 1e-5);
    EXPECT_LT(relative_distance(found.bias, grad.narrow(1, 0, split).sum(1)), 1e-5);
  }
}

TEST(WorkerBatchNorm2d, MovesTheRunningStatisticsOfAStepOnce) {
  const torch::Tensor x = random_tensor({6, 2, 3, 3}, 1);
  const auto move = [&](bool moves) {
    OtherHalf nobody({torch::zeros({4}, torch::kDouble)});
    WorkerBatchNorm2d norm(WorkerBatchNormSpec{.channels = 2});
    norm->set_layout(std::make_shared<WorkerLayout>(WorkerLayout{
        .starts = {0, 6}, .shared = &nobody, .shared_rows = {6}, .moves_running = moves}));
    norm->forward(x);
    return norm->worker_mean()[0].clone();
  };
  EXPECT_LT(relative_distance(move(true), 0.1 * x.mean({0, 2, 3})), 1e-5);
  EXPECT_TRUE(torch::equal(move(false), torch::zeros({2})));
}

TEST(WorkerBatchNorm2d, MovesEachWorkersRunningStatisticsAsTorchDoes) {
  WorkerBatchNorm2d ours(WorkerBatchNormSpec{.channels = 3});
  const auto layout = std::make_shared<WorkerLayout>();
  ours->set_layout(layout);
  std::vector<torch::nn::BatchNorm2d> replicas = {torch::nn::BatchNorm2d(3),
                                                  torch::nn::BatchNorm2d(3)};
  const std::vector<std::vector<std::int64_t>> steps = {{0, 4, 10}, {0, 0, 6}, {0, 5, 6}};
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    layout->starts = steps[step];
    const torch::Tensor x = random_tensor({layout->starts.back(), 3, 4, 4}, step, 2, 1);
    ours(x);
    for (std::int64_t w = 0; w < 2; ++w) {
      if (layout->rows(w) > 0) replicas[w](x.narrow(0, layout->starts[w], layout->rows(w)));
    }
  }
  for (std::int64_t w = 0; w < 2; ++w) {
    EXPECT_LT(relative_distance(ours->worker_mean()[w], replicas[w]->running_mean), 1e-6);
    EXPECT_LT(relative_distance(ours->worker_variance()[w], replicas[w]->running_var), 1e-6);
  }
  EXPECT_EQ(ours->num_batches_tracked.item<std::int64_t>(), 3);
  EXPECT_TRUE(torch::equal(ours->running_mean, torch::zeros({3})));
}

TEST(WorkerBatchNorm2d, KeepsTheVarianceWhereASingleValueHasNone) {
  WorkerBatchNorm2d norm(WorkerBatchNormSpec{.channels = 2});
  norm->set_layout(std::make_shared<WorkerLayout>(WorkerLayout{{0, 1, 3}}));
  const torch::Tensor x = random_tensor({3, 2, 1, 1}, 1).requires_grad_(true);
  const torch::Tensor y = norm(x);
  EXPECT_TRUE(torch::equal(y[0], torch::zeros({2, 1, 1})));
  EXPECT_TRUE(torch::equal(norm->worker_variance()[0], torch::ones({2})));
  EXPECT_LT(relative_distance(norm->worker_mean()[0], 0.1 * x[0].flatten()), 1e-6);
  EXPECT_TRUE(norm->worker_variance().isfinite().all().item<bool>());
  (y * y).sum().backward();
  EXPECT_TRUE(torch::equal(x.grad()[0], torch::zeros({2, 1, 1})));
}

TEST(WorkerBatchNorm2d, EvaluatesWithTheRegisteredStatistics) {
  WorkerBatchNorm2d norm(WorkerBatchNormSpec{.channels = 2});
  norm->running_mean.fill_(3);
  norm->running_var.fill_(4);
  norm->eval();
  const torch::Tensor y = norm(torch::full({1, 2, 1, 1}, 7.0f));
  EXPECT_NEAR(y[0][0].item<float>(), 2.0f, 1e-5);
  EXPECT_FALSE(norm->worker_mean().defined());
}

TEST(WorkerBatchNorm2d, EvaluatesLikeTrainingIfAskedTo) {
  const torch::Tensor x = random_tensor({8, 2, 3, 3}, 1, 2, 5);
  WorkerBatchNorm2d training(WorkerBatchNormSpec{.channels = 2});
  WorkerBatchNorm2d evaluating(WorkerBatchNormSpec{.channels = 2});
  evaluating->eval();
  evaluating->set_batch_statistics(true);
  EXPECT_TRUE(torch::equal(evaluating(x), training(x)));
  EXPECT_TRUE(torch::equal(evaluating->worker_mean(), training->worker_mean()));
  EXPECT_TRUE(torch::equal(evaluating->worker_variance(), training->worker_variance()));
  EXPECT_EQ(evaluating->num_batches_tracked.item<std::int64_t>(), 1);
}

TEST(WorkerBatchNorm2d, RefusesAnotherNumberOfWorkers) {
  WorkerBatchNorm2d norm(WorkerBatchNormSpec{.channels = 2});
  norm(random_tensor({4, 2, 1, 1}, 1));
  norm->set_layout(std::make_shared<WorkerLayout>(WorkerLayout{{0, 2, 4}}));
  EXPECT_THROW(norm(random_tensor({4, 2, 1, 1}, 1)), ConfigError);
  norm->set_worker_statistics({}, {});
  EXPECT_NO_THROW(norm(random_tensor({4, 2, 1, 1}, 1)));
}

}  // namespace
}  // namespace impart::models
