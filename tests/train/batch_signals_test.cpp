#include "impart/train/batch_signals.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/models/losses.h"
#include "tests/importance/signal_definitions.h"
#include "tests/models/tensors.h"

namespace impart::train {
namespace {

using testing::random_tensor;

constexpr std::int64_t kRows = 17, kClasses = 7, kFeatures = 5;

struct Batch {
  models::Classifier::Output output{random_tensor({kRows, kClasses}, 1, 3),
                                    random_tensor({kRows, 5}, 2)};
  torch::Tensor labels = torch::arange(kRows).remainder(kClasses);
  torch::Tensor losses = torch::nn::functional::cross_entropy(
      output.logits, labels,
      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
};

std::vector<float> values_in(const torch::Tensor& tensor) {
  const auto values = tensor.contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

/// The signals of one example by their definition.
importance::PerSignal<double> signals_of(const Batch& batch, std::int64_t row) {
  return testing::define_signals(values_in(batch.output.logits[row]),
                                 static_cast<std::size_t>(batch.labels[row].item<std::int64_t>()),
                                 values_in(batch.output.features[row]));
}

TEST(SignalSet, ComputesAllSignalsByTheirDefinition) {
  const Batch batch;
  const SignalSet set({std::begin(importance::kNotions), std::end(importance::kNotions)});
  ASSERT_EQ(static_cast<std::size_t>(set.size()), importance::kSignalCount);
  const auto computed = set.compute(batch.output, batch.labels, {batch.losses, {}});
  ASSERT_EQ(computed.sizes(), (std::vector<std::int64_t>{set.size(), kRows}));
  const std::vector<float> values = values_in(computed);
  const importance::Signals signals = set.view(values, kRows);
  double correct = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto expected = signals_of(batch, row);
    for (const importance::SignalRow& signal : importance::kSignals) {
      ASSERT_EQ((signals.*signal.values).size(), static_cast<std::size_t>(kRows)) << signal.name;
      const auto value = double{(signals.*signal.values)[row]};
      EXPECT_NEAR(value, expected[signal.signal], 2e-6 * (1 + std::abs(value))) << signal.name;
    }
    correct += expected[importance::Signal::kCorrect];
  }
  EXPECT_GT(correct, 0);
  EXPECT_LT(correct, static_cast<double>(kRows));
}

TEST(SignalSet, ComputesOnlyWhatItsNotionsNeed) {
  const Batch batch;
  for (const importance::NotionEntry& notion : importance::kNotions) {
    const SignalSet set({notion});
    const auto computed = set.compute(batch.output, batch.labels, {batch.losses, {}});
    EXPECT_EQ(computed.size(0), set.size());
    const std::vector<float> values = values_in(computed);
    const importance::Signals signals = set.view(values, kRows);
    std::int64_t rows = 0;
    for (const importance::SignalRow& signal : importance::kSignals) {
      const bool always = signal.signal == importance::Signal::kLoss ||
                          signal.signal == importance::Signal::kCorrect;
      const bool needed = always || importance::overlap(notion.needs, signal.needed_for());
      EXPECT_EQ(!(signals.*signal.values).empty(), needed) << notion.name << " " << signal.name;
      rows += needed ? 1 : 0;
    }
    EXPECT_EQ(set.size(), rows) << notion.name;
  }
}

TEST(SignalSet, NamesTheRowsOfLossAndCorrectness) {
  const Batch batch;
  const SignalSet set(importance::notions_named({"entropy"}));
  const std::vector<float> values =
      values_in(set.compute(batch.output, batch.labels, {batch.losses, {}}));
  const importance::Signals signals = set.view(values, kRows);
  EXPECT_EQ(signals.loss.data(), values.data() + SignalSet::kLossRow * kRows);
  EXPECT_EQ(signals.correct.data(), values.data() + SignalSet::kCorrectRow * kRows);
  EXPECT_EQ(signals.entropy.data(), values.data() + 2 * kRows);
}

TEST(SignalSet, KeepsNoGraph) {
  Batch batch;
  batch.output.logits.requires_grad_(true);
  batch.output.features.requires_grad_(true);
  const SignalSet set({std::begin(importance::kNotions), std::end(importance::kNotions)});
  const auto losses = batch.output.logits.sum(1);
  EXPECT_FALSE(set.compute(batch.output, batch.labels, {losses, {}}).requires_grad());
}

TEST(SignalSet, StaysFiniteForHugeLogits) {
  Batch batch;
  batch.output.logits.mul_(1e4);
  const auto losses = torch::nn::functional::cross_entropy(
      batch.output.logits, batch.labels,
      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  const SignalSet set({std::begin(importance::kNotions), std::end(importance::kNotions)});
  const auto computed = set.compute(batch.output, batch.labels, {losses, {}});
  EXPECT_TRUE(computed.isfinite().all().item<bool>());
}

/// The example of a batch whose signals by definition a token has.
Batch token_as_example(const models::Classifier::Output& output, const torch::Tensor& targets,
                       std::int64_t block) {
  Batch batch;
  batch.output = {output.logits[block], output.features[block]};
  batch.labels = targets[block];
  return batch;
}

TEST(SignalSet, OfTokenBlocksAreMeansOverTheTokensThatCount) {
  constexpr std::int64_t kBlocks = 4, kTokens = 6;
  const models::Classifier::Output output{random_tensor({kBlocks, kTokens, kClasses}, 1, 3),
                                          random_tensor({kBlocks, kTokens, kFeatures}, 2)};
  torch::Tensor targets =
      torch::arange(kBlocks * kTokens).remainder(kClasses).view({kBlocks, kTokens});
  targets[1].narrow(0, 4, 2).fill_(models::kNoTarget);
  targets[2][0] = models::kNoTarget;
  const SignalSet set({std::begin(importance::kNotions), std::end(importance::kNotions)});
  const std::vector<float> values =
      values_in(set.compute(output, targets, models::measure_losses(output.logits, targets)));
  const importance::Signals signals = set.view(values, kBlocks);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const Batch tokens = token_as_example(output, targets, block);
    importance::PerSignal<double> means;
    double count = 0;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      if (targets[block][t].item<std::int64_t>() == models::kNoTarget) continue;
      const auto token = signals_of(tokens, t);
      for (std::size_t s = 0; s < importance::kSignalCount; ++s) means.values[s] += token.values[s];
      ++count;
    }
    for (double& value : means.values) value /= count;
    means[importance::Signal::kProbability] = std::exp(-means[importance::Signal::kLoss]);
    for (const importance::SignalRow& signal : importance::kSignals) {
      const auto value = double{(signals.*signal.values)[block]};
      EXPECT_NEAR(value, means[signal.signal], 4e-6 * (1 + std::abs(value)))
          << signal.name << " of block " << block;
    }
  }
}

TEST(SignalSet, OfManyTokensAreThoseOfAFewAtATime) {
  constexpr std::int64_t kWide = 5000;  // logits of 180 tokens are more than are taken at once
  const models::Classifier::Output output{random_tensor({3, 60, kWide}, 1, 3),
                                          random_tensor({3, 60, 5}, 2)};
  const torch::Tensor targets = torch::arange(180).view({3, 60}) * 27;
  const SignalSet set({std::begin(importance::kNotions), std::end(importance::kNotions)});
  const auto losses = models::measure_losses(output.logits, targets);
  const auto together = set.compute(output, targets, losses);
  for (std::int64_t block = 0; block < 3; ++block) {
    const auto alone =
        set.compute({output.logits.narrow(0, block, 1), output.features.narrow(0, block, 1)},
                    targets.narrow(0, block, 1), {losses.examples.narrow(0, block, 1), {}});
    EXPECT_TRUE(torch::allclose(alone.squeeze(1), together.select(1, block), 1e-4, 1e-6));
  }
}

TEST(SignalSet, OfABlockWithoutTargetsAreFinite) {
  const models::Classifier::Output output{random_tensor({2, 3, kClasses}, 1),
                                          random_tensor({2, 3, kFeatures}, 2)};
  const torch::Tensor targets = torch::full({2, 3}, models::kNoTarget, torch::kLong);
  const SignalSet set({std::begin(importance::kNotions), std::end(importance::kNotions)});
  const auto computed =
      set.compute(output, targets, models::measure_losses(output.logits, targets));
  EXPECT_TRUE(computed.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace impart::train
