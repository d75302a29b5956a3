#include "impart/train/output/run_results.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/models/task_losses.h"
#include "impart/run/result_columns.h"

namespace impart::train {
namespace {

TEST(RunResults, OfClassesAreAccuracies) {
  RunResults results(data::kClasses);
  run::RunSummary summary;
  for (const double accuracy : {40.0, 60.0, 50.0}) {
    const auto epoch = static_cast<std::uint32_t>(accuracy);
    results.note({.loss = 1, .accuracy = accuracy}, epoch, summary);
  }
  EXPECT_EQ(summary.best_accuracy, 60);
  EXPECT_EQ(summary.best_epoch, 60u);
  EXPECT_EQ(summary.final_accuracy, 50);
  EXPECT_EQ(results.last_score(), 50);
  EXPECT_FALSE(summary.best_perplexity);
}

TEST(RunResults, OfLanguageArePerplexitiesAndBits) {
  RunResults results(data::kLanguage);
  run::RunSummary summary;
  for (const double loss : {std::nan(""), 1.0, 2.0}) {
    results.note({.predictions = 10, .loss = loss, .bytes = 20}, loss == 1 ? 1 : 7, summary);
  }
  EXPECT_EQ(summary.best_epoch, 1u);
  EXPECT_EQ(summary.best_perplexity, std::exp(1.0));
  EXPECT_EQ(summary.final_perplexity, std::exp(2.0));
  EXPECT_NEAR(summary.best_bits_per_byte.value(), 0.5 / std::log(2), 1e-12);
  EXPECT_FALSE(summary.best_accuracy);
  run::EpochRecord result;
  results.add_to(result, {.predictions = 10, .loss = 2, .accuracy = 30});
  EXPECT_EQ(result.test_accuracy, 30);
  EXPECT_EQ(result.test_perplexity, std::exp(2.0));
  EXPECT_FALSE(result.test_bits_per_byte) << "the text's bytes are not known";
}

TEST(RunResults, HaveAColumnForEveryMetricAndEveryTaskALoss) {
  for (const models::TaskLosses& row : models::kTaskLosses) {
    EXPECT_EQ(models::losses_of(row.task).of_examples, row.of_examples);
    for (const data::Metric& metric : row.task.metrics) {
      EXPECT_EQ(run::column_of(metric.name).name, metric.name);
    }
  }
}

}  // namespace
}  // namespace impart::train
