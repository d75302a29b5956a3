#include "impart/importance/logit_signals.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "tests/importance/signal_definitions.h"

namespace impart::importance {
namespace {

struct Batch {
  std::size_t classes;
  std::vector<float> logits, features;
  std::vector<std::int64_t> targets;

  ForwardRows rows() const {
    return {.logits = logits, .classes = classes, .targets = targets, .features = features};
  }
};

Batch make_batch(std::size_t rows, std::size_t classes, double spread) {
  RandomStream random({.seed = rows, .purpose = Purpose("test")});
  Batch batch{.classes = classes, .logits = {}, .features = {}, .targets = {}};
  for (std::size_t i = 0; i < rows * classes; ++i) {
    batch.logits.push_back(static_cast<float>(spread * random.normal()));
  }
  for (std::size_t i = 0; i < rows * 3; ++i) {
    batch.features.push_back(static_cast<float>(random.normal()));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    batch.targets.push_back(static_cast<std::int64_t>(random.below(classes)));
  }
  return batch;
}

TEST(LogitSignals, AreThoseOfTheirDefinitions) {
  for (const std::size_t classes : {2, 3, 16, 17, 40, 1000}) {
    for (const double spread : {0.1, 3.0, 40.0}) {
      const Batch batch = make_batch(7, classes, spread);
      const std::vector<float> found = signals_of_logits(batch.rows(), kAnySignal);
      ASSERT_EQ(found.size(), kSignalCount * 7);
      for (std::size_t row = 0; row < 7; ++row) {
        const PerSignal<double> expected =
            testing::define_signals(std::span(batch.logits).subspan(row * classes, classes),
                                    static_cast<std::size_t>(batch.targets[row]),
                                    std::span(batch.features).subspan(row * 3, 3));
        for (const SignalRow& signal : kSignals) {
          const double value = expected[signal.signal];
          EXPECT_NEAR(found[index(signal.signal) * 7 + row], value, 1e-6 + 1e-5 * std::abs(value))
              << signal.name << " of " << classes << " classes";
        }
      }
    }
  }
}

TEST(LogitSignals, AreThoseThatAreAskedFor) {
  const Batch batch = make_batch(7, 5, 3);
  const std::vector<float> all = signals_of_logits(batch.rows(), kAnySignal);
  for (const SignalRow& signal : kSignals) {
    ASSERT_EQ(signals_for(signal.mean), std::vector{signal.signal});
    const std::vector<float> alone = signals_of_logits(batch.rows(), signal.mean);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + index(signal.signal) * 7))
        << signal.name;
  }
}

TEST(LogitSignals, AreExactForPredictionsThatAreNearlyCertain) {
  const Batch batch{.classes = 2, .logits = {30, 0}, .features = {}, .targets = {0}};
  const auto found = signals_of_logits(batch.rows(), StateSet::kLossMean | StateSet::kErrorNorm);
  EXPECT_NEAR(found[0] / std::exp(-30.0), 1, 1e-5);
  EXPECT_NEAR(found[1] / (std::sqrt(2.0) * std::exp(-30.0)), 1, 1e-5);
}

TEST(LogitSignals, OfBlocksAreMeansOverTheTokensThatCount) {
  Batch batch = make_batch(4, 5, 2);
  ForwardRows rows = batch.rows();
  const auto alone = signals_of_logits(rows, StateSet::kLossMean | StateSet::kEntropy);
  rows.rows_per_example = 2;
  batch.targets[3] = kIgnoredTarget;
  const auto found = signals_of_logits(
      rows, StateSet::kLossMean | StateSet::kProbabilityMean | StateSet::kEntropy);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_FLOAT_EQ(found[0], (alone[0] + alone[1]) / 2);
  EXPECT_FLOAT_EQ(found[1], alone[2]);
  EXPECT_FLOAT_EQ(found[2], std::exp(-found[0]));
  EXPECT_FLOAT_EQ(found[4], (alone[4] + alone[5]) / 2);
}

TEST(LogitSignals, TakeGivenLossesAsTheyAre) {
  const Batch batch = make_batch(2, 5, 2);
  ForwardRows rows = batch.rows();
  const std::vector<float> losses = {0.25f, 4};
  rows.losses = losses;
  EXPECT_EQ(signals_of_logits(rows, StateSet::kLossMean), losses);
}

TEST(LogitSignals, OfDivergedRowsAreNotFinite) {
  Batch batch = make_batch(3, 20, 1);
  batch.logits[5] = std::numeric_limits<float>::quiet_NaN();
  batch.logits[25] = std::numeric_limits<float>::infinity();
  batch.logits[45] = std::bit_cast<float>(0x7FC00001u);  // a NaN with something in it
  for (const float loss : signals_of_logits(batch.rows(), StateSet::kLossMean)) {
    EXPECT_FALSE(std::isfinite(loss));
  }
}

TEST(LogitSignals, RefuseWhatDoesNotFit) {
  const Batch batch = make_batch(4, 5, 1);
  const auto refuse = [&](auto change, StateSet needs = StateSet::kLossMean) {
    Batch wrong = batch;
    ForwardRows rows = wrong.rows();
    change(wrong, rows);
    EXPECT_THROW(signals_of_logits(rows, needs), DataError);
  };
  refuse([](Batch&, ForwardRows& rows) { rows.classes = 4; });
  refuse([](Batch&, ForwardRows& rows) { rows.classes = 0; });
  refuse([](Batch&, ForwardRows& rows) { rows.rows_per_example = 3; });
  refuse([](Batch& wrong, ForwardRows&) { wrong.targets[2] = 5; });
  refuse([](Batch& wrong, ForwardRows&) { wrong.targets[2] = -1; });
  refuse([](Batch& wrong, ForwardRows&) { wrong.targets[2] = kIgnoredTarget; });
  refuse([](Batch& wrong, ForwardRows& rows) { rows.losses = std::span(wrong.logits).first(3); });
  refuse([](Batch&, ForwardRows& rows) { rows.features = {}; }, StateSet::kGradientBound);
}

}  // namespace
}  // namespace impart::importance
