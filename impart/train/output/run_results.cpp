#include "impart/train/output/run_results.h"

#include "impart/run/result_columns.h"

namespace impart::train {

void RunResults::note(const data::TestOutcome& outcome, std::uint32_t epoch,
                      run::RunSummary& summary) {
  last_score_ = data::score_of(task_, outcome);
  const auto best = run::column_of(task_.metric).best;
  const bool is_best = data::is_better(task_, *last_score_, summary.*best);
  if (is_best) summary.best_epoch = epoch;
  for (const data::Metric& metric : task_.metrics) {
    const run::ResultColumn& column = run::column_of(metric.name);
    const std::optional<double> value = metric.measure(outcome);
    if (is_best) summary.*column.best = value;
    summary.*column.last = value;
  }
}

void RunResults::add_to(run::EpochRecord& result, const data::TestOutcome& outcome) const {
  result.test_loss = outcome.loss;
  result.test_accuracy = outcome.accuracy;
  for (const data::Metric& metric : task_.metrics) {
    result.*run::column_of(metric.name).test = metric.measure(outcome);
  }
}

}  // namespace impart::train
