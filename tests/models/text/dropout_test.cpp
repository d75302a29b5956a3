#include "impart/models/layers/dropout.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/text/text_models.h"
#include "tests/models/tensors.h"
#include "tests/models/text/cases.h"

namespace impart::models {
namespace {

using testing::random_tokens;
using Slices = std::vector<DropoutPlan::Slice>;

std::shared_ptr<DropoutPlan> make_plan(Slices slices) {
  return std::make_shared<DropoutPlan>(
      DropoutPlan{.seed = 0x1234567890, .epoch = 3, .step = 14, .slices = std::move(slices)});
}

torch::Tensor mask_of(double rate, std::shared_ptr<const DropoutPlan> plan, at::IntArrayRef shape,
                      std::uint32_t layer = 2) {
  Dropout dropout(rate);
  dropout->set_plan(std::move(plan), layer);
  return dropout(torch::ones(shape));
}

TEST(Dropout, DrawsItsMaskFromPhiloxByItsDefinition) {
  const torch::Tensor mask =
      mask_of(0.25, make_plan({{WorkerId{5}, 2}, {WorkerId{9}, 3}}), {5, 77});
  RandomStream keys({.seed = 0x1234567890, .purpose = Purpose("dropout"), .epoch = 3});
  for (int i = 0; i < 14 * 4; ++i) keys.next32();
  const std::uint32_t key0 = keys.next32(), key1 = keys.next32();
  const float* data = mask.data_ptr<float>();
  for (const auto& [worker, first, count] : {std::tuple{5u, 0, 154}, std::tuple{9u, 154, 231}}) {
    for (int i = 0; i < count; ++i) {
      const auto block = static_cast<std::uint32_t>(i / 128 * 16 + i % 16);
      const PhiloxCounter words = philox4x32_10({block, 0, 2, worker}, {key0, key1});
      const int half = i % 128 / 16;
      const std::uint32_t drawn = (words[half / 2] >> (16 * (half % 2))) & 0xFFFF;
      EXPECT_EQ(data[first + i], drawn < 16384 ? 0.0f : 4.0f / 3) << worker << " " << i;
    }
  }
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  for (const double rate : {0.1, 0.2, 0.5, 0.9}) {
    const torch::Tensor mask = mask_of(rate, make_plan({{WorkerId{0}, 100}}), {100, 10000});
    EXPECT_NEAR(mask.eq(0).to(torch::kDouble).mean().item<double>(), rate, 2e-3) << rate;
    EXPECT_NEAR(mask.mean().item<double>(), 1, 1e-2) << rate;
  }
}

TEST(Dropout, GivesAWorkerTheSameMaskInAnyProcessAndOnAnyNumberOfThreads) {
  const std::int64_t width = 1000;
  const Slices slices = {{WorkerId{0}, 40}, {WorkerId{1}, 0}, {WorkerId{2}, 33}, {WorkerId{3}, 70}};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const torch::Tensor together = mask_of(0.3, make_plan(slices), {143, width});
  at::set_num_threads(4);
  EXPECT_TRUE(torch::equal(mask_of(0.3, make_plan(slices), {143, width}), together));
  std::vector<torch::Tensor> alone;
  for (const auto& slice : slices) {
    alone.push_back(mask_of(0.3, make_plan({slice}), {slice.rows, width}));
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(torch::cat(alone), together));
}

TEST(Dropout, DrawsAnotherMaskForAnotherWorkerLayerStepEpochOrSeed) {
  const auto base = make_plan({{WorkerId{0}, 4}});
  const torch::Tensor mask = mask_of(0.5, base, {4, 100});
  EXPECT_TRUE(torch::equal(mask_of(0.5, base, {4, 100}), mask));
  EXPECT_FALSE(torch::equal(mask_of(0.5, base, {4, 100}, 3), mask));
  const auto changed = [&](auto change) {
    auto plan = std::make_shared<DropoutPlan>(*base);
    change(*plan);
    return mask_of(0.5, plan, {4, 100});
  };
  EXPECT_FALSE(torch::equal(changed([](auto& plan) { ++plan.seed; }), mask));
  EXPECT_FALSE(torch::equal(changed([](auto& plan) { ++plan.epoch; }), mask));
  EXPECT_FALSE(torch::equal(changed([](auto& plan) { ++plan.step; }), mask));
  EXPECT_FALSE(
      torch::equal(changed([](auto& plan) { plan.slices[0].worker = WorkerId{1}; }), mask));
}

TEST(Dropout, AddsABranchAndPassesGradientsThroughItsMask) {
  Dropout dropout(0.5);
  dropout->set_plan(make_plan({{WorkerId{0}, 8}}), 0);
  const torch::Tensor trunk = testing::random_tensor({8, 40}, 1).requires_grad_(true);
  const torch::Tensor branch = testing::random_tensor({8, 40}, 2).requires_grad_(true);
  const torch::Tensor mask = dropout(torch::ones({8, 40}));
  const torch::Tensor sum = dropout->add(trunk, branch);
  EXPECT_TRUE(torch::allclose(sum, trunk + branch * mask));
  sum.sum().backward();
  EXPECT_TRUE(torch::equal(branch.grad(), mask));
  EXPECT_TRUE(torch::equal(trunk.grad(), torch::ones({8, 40})));
  EXPECT_EQ(dropout(torch::ones({8, 40}, torch::kDouble)).scalar_type(), torch::kDouble);
}

TEST(Dropout, ChangesNothingInEvaluationOrAtRateZero) {
  const torch::Tensor input = testing::random_tensor({3, 5}, 1);
  Dropout nothing(0.0), idle(0.5);
  idle->eval();
  EXPECT_TRUE(torch::equal(nothing(input), input));
  EXPECT_TRUE(torch::equal(idle(input), input));
}

TEST(Dropout, RefusesRatesAndPlansThatMakeNoSense) {
  EXPECT_THROW(Dropout(-0.1), ConfigError);
  EXPECT_THROW(Dropout(1.0), ConfigError);
  EXPECT_THROW(Dropout(NAN), ConfigError);
  Dropout dropout(0.5);
  EXPECT_THROW(dropout(torch::ones({3, 5})), ConfigError);
  dropout->set_plan(make_plan({{WorkerId{0}, 2}}), 0);
  EXPECT_THROW(dropout(torch::ones({3, 5})), ConfigError);
}

/// Two workers stacked in one process train as they would in two.
TEST(Dropout, MakesAModelsWorkersIndependentOfWhoIsStackedWithThem) {
  for (const TextModelEntry& entry : testing::small_text_models()) {
    auto model = entry.function({.vocabulary = 50, .length = 24, .dropout = 0.2});
    initialise_parameters(*model, 1);
    const torch::Tensor ids = random_tokens({5, 24}, 50, 1);
    auto plan = make_plan({{WorkerId{0}, 3}, {WorkerId{1}, 2}});
    set_dropout_plan(*model, plan);
    const torch::Tensor stacked = model->forward(ids).logits;
    plan->slices = {{WorkerId{1}, 2}};
    const torch::Tensor alone = model->forward(ids.narrow(0, 3, 2)).logits;
    EXPECT_LT(testing::relative_distance(alone, stacked.narrow(0, 3, 2)), 1e-5) << entry.name;
    ++plan->step;
    const torch::Tensor other = model->forward(ids.narrow(0, 3, 2)).logits;
    EXPECT_GT(testing::relative_distance(other, alone), 1e-3) << entry.name;
    model->eval();
    EXPECT_TRUE(torch::equal(model->forward(ids).logits, model->forward(ids).logits));
  }
}

}  // namespace
}  // namespace impart::models
