#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/layers/device_batch_norm.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "tests/cuda/gpu_test.h"
#include "tests/models/tensors.h"

namespace impart {
namespace {

using testing::distance;
using testing::random_tensor;

class DeviceBatchNorm : public testing::GpuTest {};

struct Case {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> starts;
};

std::vector<std::int64_t> even_starts(std::int64_t workers, std::int64_t rows) {
  std::vector<std::int64_t> starts;
  for (std::int64_t w = 0; w <= workers; ++w) starts.push_back(w * rows);
  return starts;
}

const std::vector<Case> kCases = {
    {"one worker", {16, 64, 8, 8}, {0, 16}},
    {"four", {32, 64, 8, 8}, even_starts(4, 8)},
    {"uneven, some empty", {37, 128, 4, 4}, {0, 0, 5, 30, 30, 37}},
    {"one pixel", {64, 512, 1, 1}, even_starts(4, 16)},
    {"a single row", {9, 256, 1, 1}, {0, 1, 9}},
    {"odd image", {12, 72, 5, 3}, even_starts(3, 4)},
    {"few channels", {24, 8, 6, 6}, even_starts(2, 12)},
    {"long", {16, 64, 32, 32}, even_starts(2, 8)},
    {"two dimensions", {40, 264}, even_starts(5, 8)},
    {"many workers", {512, 64, 2, 2}, even_starts(128, 4)},
    {"thousands, wide", {2048, 512, 1, 1}, even_starts(1024, 2)},
};

struct Inputs {
  torch::Tensor x, weight, bias, residual, grad_y;
};

Inputs make_inputs(const Case& c, double shift) {
  return {random_tensor(c.shape, 1, 1.5, shift), random_tensor({c.shape[1]}, 2, 0.5, 1),
          random_tensor({c.shape[1]}, 3), random_tensor(c.shape, 4), random_tensor(c.shape, 5)};
}

struct Results {
  torch::Tensor y, x, weight, bias, residual, mean, variance;
};

/// Rounding can turn a sign, or which of two values is the larger; where it might, gradients are
/// made zero so that they do not matter.
constexpr double kNearZero = 1e-4;

/// The definition, in double on the CPU: torch's batch norm of every worker's rows. Changes the
/// gradient of y where signs are uncertain.
Results reference(const Case& c, Inputs& in, const models::NormTail& tail) {
  const auto leaf = [](const torch::Tensor& t) {
    return t.to(torch::kDouble).clone().requires_grad_(true);
  };
  const auto x = leaf(in.x), weight = leaf(in.weight), bias = leaf(in.bias);
  const auto residual = leaf(in.residual);
  const auto workers = static_cast<std::int64_t>(c.starts.size()) - 1;
  Results r;
  r.mean = torch::zeros({workers, c.shape[1]}, torch::kDouble);
  r.variance = torch::ones({workers, c.shape[1]}, torch::kDouble);
  std::vector<torch::Tensor> parts;
  for (std::int64_t w = 0; w < workers; ++w) {
    const std::int64_t rows = c.starts[w + 1] - c.starts[w];
    if (rows == 0) continue;
    const auto part = x.narrow(0, c.starts[w], rows);
    auto mean = r.mean[w], variance = r.variance[w];
    const bool single = part.numel() == c.shape[1];
    const auto kept = variance.clone();
    parts.push_back(
        single ? torch::zeros_like(part) * part + bias.view({1, -1, 1, 1})
               : torch::batch_norm(part, weight, bias, mean, variance, true, 0.1, 1e-5, false));
    if (single) {
      mean.copy_(0.1 * part.detach().flatten());
      variance.copy_(kept);
    }
  }
  auto y = torch::cat(parts);
  if (tail.residual.defined()) y = y + residual;
  if (tail.relu) y = y.relu();
  if (tail.pool) y = torch::max_pool2d(y, 3, 2, 1);
  if (tail.pool) in.grad_y = random_tensor(y.sizes(), 5);
  if (tail.relu) in.grad_y = in.grad_y * y.detach().gt(kNearZero).to(torch::kFloat);
  y.backward(in.grad_y.to(torch::kDouble));
  r.y = y;
  r.x = x.grad();
  r.weight = weight.grad();
  r.bias = bias.grad();
  if (tail.residual.defined()) r.residual = residual.grad();
  return r;
}

/// Which of its two outputs get a gradient.
enum class Uses { kFirst, kSecond, kBoth };

Results ours(const Case& c, const Inputs& in, const models::NormTail& tail, torch::ScalarType type,
             Uses uses = Uses::kFirst) {
  const auto leaf = [](const torch::Tensor& t, torch::ScalarType as) {
    auto copy = t.to(torch::kCUDA, as);
    if (copy.dim() == 4) copy = copy.contiguous(torch::MemoryFormat::ChannelsLast);
    return copy.detach().requires_grad_(true);
  };
  models::WorkerBatchNorm2d norm(models::WorkerBatchNormSpec{.channels = c.shape[1]});
  norm->to(torch::kCUDA);
  norm->set_layout(
      std::make_shared<models::WorkerLayout>(models::WorkerLayout{.starts = c.starts}));
  norm->weight.set_data(in.weight.to(torch::kCUDA));
  norm->bias.set_data(in.bias.to(torch::kCUDA));
  const auto x = leaf(in.x, type), residual = leaf(in.residual, type);
  EXPECT_TRUE(models::has_device_batch_norm(x));
  const auto [y, again] =
      norm->forward_twice(x, {.relu = tail.relu,
                              .residual = tail.residual.defined() ? residual : torch::Tensor(),
                              .pool = tail.pool});
  const auto gradient = in.grad_y.to(torch::kCUDA, type);
  if (uses == Uses::kBoth) {
    torch::autograd::backward({y, again}, {gradient * 0.25, gradient * 0.75});
  } else {
    (uses == Uses::kFirst ? y : again).backward(gradient);
  }
  EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 1);
  return {y,
          x.grad(),
          norm->weight.grad(),
          norm->bias.grad(),
          residual.grad(),
          norm->worker_mean(),
          norm->worker_variance()};
}

Inputs rounded(Inputs in) {
  const auto round = [](const torch::Tensor& t) {
    return t.to(torch::kBFloat16).to(torch::kFloat);
  };
  return {round(in.x), in.weight, in.bias, round(in.residual), round(in.grad_y)};
}

void expect_close(const Results& a, const Results& b, double tolerance, double for_sums) {
  EXPECT_LT(distance(a.y, b.y), tolerance);
  EXPECT_LT(distance(a.x, b.x), tolerance);
  EXPECT_LT(distance(a.weight, b.weight), for_sums);
  EXPECT_LT(distance(a.bias, b.bias), for_sums);
  EXPECT_LT(distance(a.mean, b.mean), 1e-5);
  EXPECT_LT(distance(a.variance, b.variance), 1e-5);
  if (b.residual.defined()) {
    EXPECT_LT(distance(a.residual, b.residual), tolerance);
  }
}

const models::NormTail kTails[] = {{},
                                   {.relu = true},
                                   {.residual = torch::ones({1})},
                                   {.relu = true, .residual = torch::ones({1})}};

TEST_F(DeviceBatchNorm, OfFloatsIsTheSlicedOne) {
  for (const Case& c : kCases) {
    for (const models::NormTail& tail : kTails) {
      SCOPED_TRACE(c.name + (tail.relu ? ", relu" : "") +
                   (tail.residual.defined() ? ", residual" : ""));
      Inputs in = make_inputs(c, 0.3);
      const Results expected = reference(c, in, tail);
      expect_close(ours(c, in, tail, torch::kFloat), expected, 2e-5, 1e-5);
    }
  }
}

TEST_F(DeviceBatchNorm, OfBfloat16HasFloatStatistics) {
  for (const Case& c : kCases) {
    for (const models::NormTail& tail : kTails) {
      SCOPED_TRACE(c.name + (tail.relu ? ", relu" : "") +
                   (tail.residual.defined() ? ", residual" : ""));
      Inputs in = rounded(make_inputs(c, 0.3));
      const Results expected = reference(c, in, tail);
      expect_close(ours(c, in, tail, torch::kBFloat16), expected, 6e-3, 1e-3);
    }
  }
}

TEST_F(DeviceBatchNorm, KeepsItsPrecisionFarFromZero) {
  const Case& c = kCases[1];
  Inputs in = make_inputs(c, 1000);
  const Results b = reference(c, in, {}), a = ours(c, in, {}, torch::kFloat);
  EXPECT_LT(distance(a.variance, b.variance), 1e-5);
  EXPECT_LT(distance(a.y, b.y), 1e-4);
}

TEST_F(DeviceBatchNorm, PoolsWhatItHasNormalised) {
  const models::NormTail tail{.relu = true, .pool = true};
  for (const Case& c : {Case{"even", {12, 64, 16, 16}, even_starts(3, 4)},
                        Case{"odd", {10, 72, 7, 5}, {0, 4, 4, 10}},
                        Case{"a pixel", {8, 64, 1, 1}, even_starts(2, 4)},
                        Case{"large", {16, 64, 32, 30}, even_starts(4, 4)}}) {
    SCOPED_TRACE(c.name);
    Inputs in = make_inputs(c, 0.3);
    const Results expected = reference(c, in, tail);
    for (const Uses uses : {Uses::kFirst, Uses::kBoth}) {
      expect_close(ours(c, in, tail, torch::kFloat, uses), expected, 2e-5, 1e-5);
    }
    // Values that are equal in bfloat16 have another first; few enough not to matter much.
    Inputs coarse = rounded(in);
    const Results narrow = ours(c, coarse, tail, torch::kBFloat16);
    EXPECT_LT(distance(narrow.y, expected.y), 1e-2);
    EXPECT_LT(distance(narrow.bias, expected.bias), 1e-2);
  }
}

TEST_F(DeviceBatchNorm, AddsUpTheGradientsOfItsTwoUses) {
  for (const models::NormTail& tail : kTails) {
    Inputs in = make_inputs(kCases[2], 0.3);
    const Results expected = reference(kCases[2], in, tail);
    for (const Uses uses : {Uses::kSecond, Uses::kBoth}) {
      expect_close(ours(kCases[2], in, tail, torch::kFloat, uses), expected, 2e-5, 1e-5);
    }
  }
}

TEST_F(DeviceBatchNorm, HasTheSameBitsEveryTime) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Inputs in = make_inputs(c, 0.3);
    const Results a = ours(c, in, kTails[3], torch::kBFloat16);
    const Results b = ours(c, in, kTails[3], torch::kBFloat16);
    EXPECT_TRUE(torch::equal(a.y, b.y));
    EXPECT_TRUE(torch::equal(a.x, b.x));
    EXPECT_TRUE(torch::equal(a.weight, b.weight));
    EXPECT_TRUE(torch::equal(a.mean, b.mean));
  }
}

TEST_F(DeviceBatchNorm, EvaluatesWithTheRegisteredStatistics) {
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    models::WorkerBatchNorm2d norm(models::WorkerBatchNormSpec{.channels = 64});
    norm->running_mean.copy_(random_tensor({64}, 1));
    norm->running_var.copy_(random_tensor({64}, 2).square() + 0.1);
    norm->weight.set_data(random_tensor({64}, 3));
    norm->bias.set_data(random_tensor({64}, 4));
    norm->eval();
    const torch::Tensor x = random_tensor({10, 64, 4, 4}, 5),
                        residual = random_tensor({10, 64, 4, 4}, 6);
    const models::NormTail tail{.relu = true, .residual = residual};
    const torch::Tensor expected = norm->forward(x, tail);
    norm->to(torch::kCUDA);
    const torch::NoGradGuard no_grad;
    const torch::Tensor y = norm->forward(
        x.to(torch::kCUDA, type), {.relu = true, .residual = residual.to(torch::kCUDA, type)});
    EXPECT_LT(distance(y, expected), type == torch::kFloat ? 1e-6 : 5e-3);
  }
}

}  // namespace
}  // namespace impart
