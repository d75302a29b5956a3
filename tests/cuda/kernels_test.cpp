#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/random.h"
#include "impart/cuda/images.h"
#include "impart/cuda/signals.h"
#include "impart/cuda/update.h"
#include "impart/feed/batch.h"
#include "impart/models/losses.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/batch_signals.h"
#include "impart/train/update/optimizer.h"
#include "tests/cuda/gpu_test.h"
#include "tests/models/tensors.h"

namespace impart {
namespace {

using testing::distance;
using testing::random_tensor;

class DeviceKernels : public testing::GpuTest {};

data::ImageSet random_images(std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
  data::ImageSet set;
  set.count = 50;
  set.channels = channels;
  set.height = height;
  set.width = width;
  set.classes = 7;
  RandomStream random({.seed = 3, .purpose = Purpose("test")});
  for (std::uint64_t i = 0; i < set.count * set.image_bytes(); ++i) {
    set.pixels.push_back(static_cast<std::uint8_t>(random.next32()));
  }
  for (std::uint64_t i = 0; i < set.count; ++i) set.labels.push_back(random.next32() % 7);
  for (std::uint32_t c = 0; c < channels; ++c) {
    set.mean.push_back(0.4f + 0.05f * static_cast<float>(c));
    set.std.push_back(0.2f + 0.03f * static_cast<float>(c));
  }
  return set;
}

TEST_F(DeviceKernels, GatherTheVeryFloatsOfTheCpu) {
  for (const auto& [channels, height, width] :
       {std::array{3u, 32u, 32u}, std::array{1u, 28u, 28u}, std::array{3u, 9u, 17u}}) {
    const data::ImageSet set = random_images(channels, height, width);
    const data::AugmentPlan plan =
        data::crop_and_flip({.seed = 5, .epoch = 2, .examples = set.count});
    const auto ids = torch::tensor({4, 49, 0, 7, 7, 31}, torch::kInt64);
    const feed::DeviceImages here = feed::put_on_device(set, torch::kCPU);
    const feed::DeviceImages there = feed::put_on_device(set, torch::kCUDA);
    for (const bool augmented : {false, true}) {
      const auto choices = augmented ? feed::put_on_device(plan, torch::kCPU) : at::Tensor();
      const auto choices_there = augmented ? feed::put_on_device(plan, torch::kCUDA) : at::Tensor();
      const auto expected = feed::make_batch(here, ids, choices);
      const auto batch = feed::make_batch(there, ids.to(torch::kCUDA), choices_there);
      EXPECT_TRUE(torch::equal(batch.cpu().contiguous(), expected));
      EXPECT_TRUE(batch.is_contiguous(torch::MemoryFormat::ChannelsLast));
      EXPECT_LT(
          distance(feed::make_batch_from_operations(there, ids.to(torch::kCUDA), choices_there),
                   expected),
          1e-6);
    }
  }
}

std::string_view name_of(const train::SignalSet& set, std::int64_t row) {
  return importance::row_of(set.rows()[static_cast<std::size_t>(row)]).name;
}

TEST_F(DeviceKernels, MeasureTheSignalsOfTheDefinition) {
  std::vector<importance::AnyNotion> all(std::begin(importance::kNotions),
                                         std::end(importance::kNotions));
  const train::SignalSet set(all);
  for (const std::int64_t classes : {2, 10, 100, 1000}) {
    const std::int64_t rows = 77;
    const auto logits = random_tensor({rows, classes}, 1, 4),
               features = random_tensor({rows, 130}, 2);
    auto labels = torch::empty({rows}, torch::kInt64);
    for (std::int64_t i = 0; i < rows; ++i) labels[i] = i * 7 % classes;
    const auto leaf = logits.to(torch::kDouble).requires_grad_(true);
    const auto losses = torch::nn::functional::cross_entropy(
        leaf, labels, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
    losses.sum().backward();
    const auto expected = set.compute({logits, features}, labels, {losses.to(torch::kFloat), {}});

    const auto l = logits.cuda(), f = features.cuda(), y = labels.cuda();
    auto out = torch::full({set.size(), rows}, std::nan(""), l.options());
    auto gradient = torch::full_like(l, std::nan(""));
    cuda::MeasureSignals call{.logits = l.data_ptr<float>(),
                              .rows = rows,
                              .classes = classes,
                              .features = f.data_ptr<float>(),
                              .feature_count = 130,
                              .labels = y.data_ptr<std::int64_t>(),
                              .signals = {.out = out.data_ptr<float>(), .stride = rows},
                              .grad_logits = gradient.data_ptr<float>()};
    ASSERT_EQ(set.rows().size(), importance::kSignalCount);
    for (std::size_t s = 0; s < set.rows().size(); ++s) {
      call.signals.places.set(set.rows()[s], static_cast<std::int64_t>(s));
    }
    cuda::measure_signals(call, tensors::current_stream());
    for (std::int64_t s = 0; s < set.size(); ++s) {
      EXPECT_LT(distance(out[s], expected[s]), 1e-5) << name_of(set, s);
    }
    EXPECT_LT(distance(gradient, leaf.grad()), 1e-5);

    const auto smooth = logits.to(torch::kDouble).requires_grad_(true);
    torch::nn::functional::cross_entropy(smooth, labels,
                                         torch::nn::functional::CrossEntropyFuncOptions()
                                             .reduction(torch::kSum)
                                             .label_smoothing(0.2))
        .backward();
    call.smoothing = 0.2f;
    cuda::measure_signals(call, tensors::current_stream());
    EXPECT_LT(distance(gradient, smooth.grad()), 1e-5);
  }
}

TEST_F(DeviceKernels, MeasureTheTokensOfTheDefinition) {
  const train::SignalSet set(std::vector<importance::AnyNotion>(std::begin(importance::kNotions),
                                                                std::end(importance::kNotions)));
  for (const std::int64_t vocabulary : {2, 65, 1000, 50304}) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      SCOPED_TRACE(std::to_string(vocabulary) + (type == torch::kFloat ? " float" : " bfloat16"));
      const auto logits = random_tensor({3, 7, vocabulary}, 1, 4).to(type);
      const auto features = random_tensor({3, 7, 130}, 2);
      auto targets = torch::empty({3, 7}, torch::kInt64);
      for (std::int64_t i = 0; i < 21; ++i) targets.view(-1)[i] = i * 7919 % vocabulary;
      targets[1].narrow(0, 4, 3).fill_(models::kNoTarget);
      const auto weights = random_tensor({3}, 3);
      const auto leaf = logits.to(torch::kFloat).clone().requires_grad_(true);
      const auto here = models::measure_losses(leaf, targets);
      (here.examples * weights).sum().backward();
      const auto expected = set.compute({leaf, features}, targets, here);

      const auto leaf_there = logits.cuda().requires_grad_(true);
      const auto there = models::measure_losses(leaf_there, targets.cuda());
      ASSERT_TRUE(there.tokens.signals[importance::Signal::kMargin].defined());
      (there.examples * weights.cuda()).sum().backward();
      const auto found = set.compute({leaf_there, features.cuda()}, targets.cuda(), there);
      for (std::int64_t s = 0; s < set.size(); ++s) {
        EXPECT_LT(distance(found[s], expected[s]), 1e-5) << name_of(set, s);
      }
      EXPECT_LT(distance(leaf_there.grad(), leaf.grad()), type == torch::kFloat ? 1e-5 : 4e-3);
      EXPECT_EQ(leaf_there.grad()[1][5].abs().sum().item<float>(), 0);
      EXPECT_LT(distance(models::token_losses(leaf_there, targets.cuda()),
                         models::token_losses(leaf, targets)),
                1e-5);
    }
  }
}

TEST_F(DeviceKernels, SayNanWhereATokenHasNanOrNothingIsPossible) {
  auto logits = random_tensor({4, 16}, 1).cuda();
  const auto targets = torch::zeros({4}, torch::kInt64).cuda();
  const float infinity = std::numeric_limits<float>::infinity();
  logits[0][3] = std::nanf("");
  logits[1].fill_(-infinity);
  logits[2][5] = -infinity;  // one impossible token is nothing special
  const auto losses = models::device_token_losses(logits, targets, true).losses.cpu();
  EXPECT_TRUE(std::isnan(losses[0].item<float>()));
  EXPECT_FALSE(std::isfinite(losses[1].item<float>()));
  EXPECT_TRUE(std::isfinite(losses[2].item<float>()));
}

struct Rule {
  const char* name;
  config::OptimizerConfig config;
};

std::vector<Rule> rules() {
  using Name = config::OptimizerConfig::Name;
  return {{"sgd", {.name = Name::kSgd}},
          {"sgd without momentum", {.name = Name::kSgd, .momentum = 0, .nesterov = false}},
          {"heavy ball", {.name = Name::kSgd, .nesterov = false}},
          {"clipped", {.name = Name::kSgd, .clip_norm = 0.5}},
          {"adamw", {.name = Name::kAdamw, .weight_decay = 0.01}},
          {"adamw, clipped", {.name = Name::kAdamw, .weight_decay = 0.01, .clip_norm = 0.5}}};
}

TEST_F(DeviceKernels, UpdateWeightsAsTheOptimizerOnTheCpu) {
  const std::vector<std::int64_t> sizes = {9408, 64, 10, 36864, 5, 4099};
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total += size;
  for (const Rule& rule : rules()) {
    SCOPED_TRACE(rule.name);
    const config::OptimizerConfig& c = rule.config;
    auto values = random_tensor({total}, 1, 0.1);
    train::Optimizer optimizer(c, values);
    auto device_values = values.cuda();
    auto first = torch::zeros_like(device_values), second = torch::zeros_like(device_values);
    auto halves = torch::zeros_like(device_values, torch::kBFloat16);
    auto state =
        torch::zeros({sizeof(cuda::StepState)}, device_values.options().dtype(torch::kByte));
    auto scratch = torch::zeros({cuda::kNormBlocks + 1}, device_values.options());
    for (std::uint32_t step = 1; step <= 3; ++step) {
      // As a backward pass leaves them: every other one in bfloat16.
      std::vector<torch::Tensor> pieces, whole;
      std::vector<cuda::GradientSlice> slices;
      std::int64_t start = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto type = i % 2 == 0 ? torch::kBFloat16 : torch::kFloat;
        const auto gradient =
            random_tensor({sizes[i]}, 10 * step + static_cast<std::uint32_t>(i), 0.02).to(type);
        whole.push_back(gradient.to(torch::kFloat));
        pieces.push_back(gradient.cuda());
        slices.push_back({.gradient = pieces.back().data_ptr(),
                          .element = i % 2 == 0 ? cuda::Element::kBfloat16 : cuda::Element::kFloat,
                          .start = start,
                          .size = sizes[i],
                          .has_half = i % 3 == 0});
        start += sizes[i];
      }
      auto gradients = torch::cat(whole);
      optimizer.step(values, gradients, 0.05 * step);
      auto* const cell = reinterpret_cast<cuda::StepState*>(state.data_ptr<std::uint8_t>());
      cuda::set_step(cell,
                     {.rate = 0.05f * static_cast<float>(step),
                      .correction1 = static_cast<float>(1 - std::pow(c.beta1, step)),
                      .correction2 = static_cast<float>(std::sqrt(1 - std::pow(c.beta2, step)))},
                     tensors::current_stream());
      cuda::update({.slices = slices,
                    .values = device_values.data_ptr<float>(),
                    .first = first.data_ptr<float>(),
                    .second = second.data_ptr<float>(),
                    .halves = halves.data_ptr(),
                    .adamw = c.name == config::OptimizerConfig::Name::kAdamw,
                    .momentum = static_cast<float>(c.momentum),
                    .weight_decay = static_cast<float>(c.weight_decay),
                    .nesterov = c.nesterov,
                    .beta1 = static_cast<float>(c.beta1),
                    .beta2 = static_cast<float>(c.beta2),
                    .epsilon = static_cast<float>(c.epsilon),
                    .step = cell,
                    .clip_norm = static_cast<float>(c.clip_norm),
                    .scratch = scratch.data_ptr<float>()},
                   tensors::current_stream());
    }
    EXPECT_LT(distance(device_values, values), 1e-6);
    EXPECT_LT(distance(first, optimizer.state()[0]), 1e-5);
    const auto half = halves.narrow(0, 0, sizes[0]);
    EXPECT_TRUE(torch::equal(half, device_values.narrow(0, 0, sizes[0]).to(torch::kBFloat16)));
    EXPECT_EQ(halves.narrow(0, sizes[0], 64).count_nonzero().item<std::int64_t>(), 0);
  }
}

}  // namespace
}  // namespace impart
