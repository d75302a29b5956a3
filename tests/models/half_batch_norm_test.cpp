#include "impart/models/layers/half_batch_norm.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

constexpr double kHalfEpsilon = 1e-5;

torch::Tensor round_to_half(const torch::Tensor& t) {
  return t.to(torch::kBFloat16).to(torch::kFloat);
}

/// Everything that has a half on the way is rounded to one, so that only arithmetic differs.
struct HalfCase {
  torch::Tensor x, residual, weight, bias, grad_first, grad_second;
};

HalfCase make_half_case(const std::vector<std::int64_t>& shape) {
  return {round_to_half(random_tensor(shape, 1, 2, 1)),
          round_to_half(random_tensor(shape, 2)),
          random_tensor({shape[1]}, 3),
          random_tensor({shape[1]}, 4),
          round_to_half(random_tensor(shape, 5)),
          round_to_half(random_tensor(shape, 6))};
}

/// Gradients of a use of both outputs.
struct HalfResults {
  torch::Tensor output, input, residual, weight, bias;
};

torch::Tensor half_leaf(const torch::Tensor& t, torch::ScalarType type) {
  return t.to(type).clone().detach().requires_grad_(true);
}

struct HalfTail {
  bool relu = false, residual = false;
};
constexpr HalfTail kHalfTails[] = {{}, {.relu = true}, {.residual = true}, {true, true}};

HalfResults ours(const HalfCase& c, const WorkerLayout& layout, const HalfTail& wanted) {
  const torch::Tensor x = half_leaf(c.x, torch::kBFloat16),
                      residual = half_leaf(c.residual, torch::kBFloat16);
  const torch::Tensor weight = half_leaf(c.weight, torch::kFloat),
                      bias = half_leaf(c.bias, torch::kFloat);
  const auto [first, second] =
      normalise_half_workers(
          x, layout,
          {.weight = weight,
           .bias = bias,
           .epsilon = kHalfEpsilon,
           .tail = {.relu = wanted.relu, .residual = wanted.residual ? residual : torch::Tensor()}})
          .output;
  torch::autograd::backward(
      {first, second}, {c.grad_first.to(torch::kBFloat16), c.grad_second.to(torch::kBFloat16)});
  return {first.detach(), x.grad(), residual.grad(), weight.grad(), bias.grad()};
}

/// By torch, in double. What is rectified is taken from our output: rounding may move a value over
/// zero.
HalfResults reference(const HalfCase& c, const WorkerLayout& layout, const HalfTail& wanted,
                      const torch::Tensor& our_output) {
  const torch::Tensor x = half_leaf(c.x, torch::kDouble),
                      residual = half_leaf(c.residual, torch::kDouble);
  const torch::Tensor weight = half_leaf(c.weight, torch::kDouble),
                      bias = half_leaf(c.bias, torch::kDouble);
  std::vector<torch::Tensor> parts;
  for (std::int64_t w = 0; w < layout.workers(); ++w) {
    if (layout.rows(w) == 0) continue;
    parts.push_back(torch::batch_norm(x.narrow(0, layout.starts[w], layout.rows(w)), weight, bias,
                                      {}, {}, true, 0.1, kHalfEpsilon, false));
  }
  torch::Tensor y = torch::cat(parts);
  if (wanted.residual) y = y + residual;
  if (wanted.relu) y = y * our_output.gt(0).to(torch::kDouble);
  y.backward((c.grad_first + c.grad_second).to(torch::kDouble));
  return {y.detach(), x.grad(), residual.grad(), weight.grad(), bias.grad()};
}

const std::vector<std::vector<std::int64_t>> kHalfShapes = {
    {16, 5, 3, 3}, {16, 64, 16, 16}, {16, 600, 1, 1}, {16, 33}, {16, 2, 32, 32}, {16, 1, 2, 2}};
const WorkerLayout kHalfLayouts[] = {{.starts = {0, 16}}, {.starts = {0, 7, 7, 16}}};

TEST(HalfBatchNorm, IsTorchsBatchNormOfEveryWorkerWithItsTail) {
  for (const auto& shape : kHalfShapes) {
    for (const WorkerLayout& layout : kHalfLayouts) {
      for (const HalfTail& wanted : kHalfTails) {
        SCOPED_TRACE(::testing::Message()
                     << torch::IntArrayRef(shape) << ", workers " << layout.workers() << ", relu "
                     << wanted.relu << ", residual " << wanted.residual);
        const HalfCase c = make_half_case(shape);
        const HalfResults found = ours(c, layout, wanted);
        const HalfResults expected = reference(c, layout, wanted, found.output);
        constexpr double kRounding = 4e-3;  // half a unit in the last place of a bfloat16
        EXPECT_LT(relative_distance(found.output, expected.output), kRounding);
        EXPECT_LT(relative_distance(found.input, expected.input), kRounding);
        EXPECT_LT(relative_distance(found.weight, expected.weight), 1e-4);
        EXPECT_LT(relative_distance(found.bias, expected.bias), 1e-4);
        ASSERT_EQ(found.residual.defined(), wanted.residual);
        if (!wanted.residual) continue;
        EXPECT_LT(relative_distance(found.residual, expected.residual), kRounding);
      }
    }
  }
}

TEST(HalfBatchNorm, DoesNotDependOnTheNumberOfThreads) {
  const int before = at::get_num_threads();
  const HalfCase c = make_half_case({64, 48, 16, 16});
  const WorkerLayout layout{.starts = {0, 30, 64}};
  at::set_num_threads(1);
  const HalfResults one = ours(c, layout, {true, true});
  at::set_num_threads(3);
  const HalfResults three = ours(c, layout, {true, true});
  at::set_num_threads(before);
  EXPECT_TRUE(torch::equal(one.output, three.output));
  EXPECT_TRUE(torch::equal(one.input, three.input));
  EXPECT_TRUE(torch::equal(one.weight, three.weight));
  EXPECT_TRUE(torch::equal(one.bias, three.bias));
}

TEST(HalfBatchNorm, MeasuresMomentsInFloats) {
  const HalfCase c = make_half_case({32, 8, 9, 9});
  const WorkerLayout layout{.starts = {0, 12, 32}};
  const auto moments =
      normalise_half_workers(c.x.to(torch::kBFloat16), layout, {.weight = c.weight, .bias = c.bias})
          .moments;
  for (std::int64_t w = 0; w < layout.workers(); ++w) {
    const torch::Tensor rows = c.x.narrow(0, layout.starts[w], layout.rows(w)).to(torch::kDouble);
    EXPECT_LT(relative_distance(moments.mean[w], rows.mean({0, 2, 3})), 1e-6);
    EXPECT_LT(relative_distance(moments.variance[w], rows.var({0, 2, 3}, /*unbiased=*/false)),
              1e-5);
  }
}

/// What two passes share, when this is the only one of two equal ones.
class Doubled : public SharedSums {
 public:
  void add_up(std::span<double> sums, std::int64_t) override {
    for (double& sum : sums) sum *= 2;
  }
};

TEST(HalfBatchNorm, SharesStatisticsWithOtherPasses) {
  const HalfCase c = make_half_case({16, 12, 4, 4});
  const WorkerLayout alone{.starts = {0, 16}};
  Doubled other;
  const WorkerLayout shared{.starts = {0, 16}, .shared = &other, .shared_rows = {32}};
  const HalfResults a = ours(c, alone, {true, true}), b = ours(c, shared, {true, true});
  EXPECT_TRUE(torch::equal(a.output, b.output));
  EXPECT_TRUE(torch::equal(a.input, b.input));
  EXPECT_TRUE(torch::equal(a.weight, b.weight));  // of its own rows
}

TEST(HalfBatchNorm, OfALayerIsCloseToThatOfFloatsInTrainingAndEvaluation) {
  for (const bool pool : {false, true}) {
    const HalfCase c = make_half_case({16, 24, 8, 8});
    WorkerBatchNorm2d floats(WorkerBatchNormSpec{.channels = 24});
    WorkerBatchNorm2d halves(WorkerBatchNormSpec{.channels = 24});
    for (auto* norm : {&floats, &halves}) {
      const torch::NoGradGuard no_grad;
      (*norm)->weight.copy_(c.weight);
      (*norm)->bias.copy_(c.bias);
    }
    const NormTail tail{.relu = true, .pool = pool};
    const torch::Tensor x = c.x.to(torch::kBFloat16);
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_LT(relative_distance(halves->forward(x, tail), floats->forward(c.x, tail)), 4e-3);
    }
    EXPECT_LT(relative_distance(halves->worker_mean(), floats->worker_mean()), 1e-5);
    EXPECT_LT(relative_distance(halves->worker_variance(), floats->worker_variance()), 1e-5);
    for (auto* norm : {&floats, &halves}) {
      const torch::NoGradGuard no_grad;
      (*norm)->running_mean.copy_((*norm)->worker_mean()[0]);
      (*norm)->running_var.copy_((*norm)->worker_variance()[0]);
      (*norm)->eval();
    }
    const torch::Tensor expected = floats->forward(c.x, tail);
    // With a gradient, and by the kernel.
    EXPECT_LT(relative_distance(halves->forward(x, tail), expected), 4e-3);
    const torch::NoGradGuard no_grad;
    const torch::Tensor found = halves->forward(x, tail);
    EXPECT_EQ(found.scalar_type(), torch::kBFloat16);
    EXPECT_LT(relative_distance(found, expected), 4e-3);
  }
}

}  // namespace
}  // namespace impart::models
