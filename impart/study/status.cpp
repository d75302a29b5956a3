#include "impart/study/status.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace impart::study {
namespace {

using ValueOfSeed = std::map<std::uint64_t, double>;

double mean_of(const ValueOfSeed& values) {
  double sum = 0;
  for (const auto& [seed, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> deviation_of(const ValueOfSeed& values, double mean) {
  if (values.size() < 2) return std::nullopt;
  double squares = 0;
  for (const auto& [seed, value] : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> paired_difference(const ValueOfSeed& values, const ValueOfSeed& baseline) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [seed, value] : values) {
    const auto other = baseline.find(seed);
    if (other == baseline.end()) continue;
    sum += value - other->second;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

bool belongs_to(const StudyRun& run, const StageStatus& stage) {
  return run.purpose == stage.purpose &&
         (run.purpose != RunPurpose::kSearch || run.epochs == stage.epochs);
}

StageStatus& stage_of(const StudyRun& run, std::vector<StageStatus>& stages) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const StageStatus& stage) { return belongs_to(run, stage); });
  if (found != stages.end()) return *found;
  return stages.emplace_back(StageStatus{
      .purpose = run.purpose, .epochs = run.epochs, .counts = {}, .arms = {}, .best = {}});
}

void fill_arms(const StudyRecord& record, std::span<const RunReport> reports, StageStatus& stage) {
  std::map<std::string, RunCounts> counts;
  std::map<std::string, ValueOfSeed> values;
  for (std::size_t i = 0; i < record.runs.size(); ++i) {
    const StudyRun& run = record.runs[i];
    if (!belongs_to(run, stage)) continue;
    counts[run.arm].add(reports[i].state);
    if (reports[i].value) values[run.arm][run.seed] = *reports[i].value;
  }
  for (const StudyArm& arm : record.arms) {
    if (!counts.contains(arm.name)) continue;
    ArmStatus& status =
        stage.arms.emplace_back(ArmStatus{.name = arm.name,
                                          .is_baseline = arm.name == record.baseline,
                                          .counts = counts[arm.name],
                                          .mean = {},
                                          .deviation = {},
                                          .difference = {}});
    const ValueOfSeed& own = values[arm.name];
    if (own.empty()) continue;
    status.mean = mean_of(own);
    status.deviation = deviation_of(own, *status.mean);
    if (record.baseline && !status.is_baseline) {
      status.difference = paired_difference(own, values[*record.baseline]);
    }
  }
}

void find_best(const StudyRecord& record, StageStatus& stage) {
  bool more_is_better = true;
  for (const StudyMetric& metric : kStudyMetrics) {
    if (metric.name == record.metric) more_is_better = metric.more_is_better;
  }
  for (std::size_t i = 0; i < stage.arms.size(); ++i) {
    const auto& mean = stage.arms[i].mean;
    if (!mean) continue;
    const bool better = !stage.best || (more_is_better ? *mean > *stage.arms[*stage.best].mean
                                                       : *mean < *stage.arms[*stage.best].mean);
    if (better) stage.best = i;
  }
}

/// Seconds per epoch, of one arm or of all.
class Pace {
 public:
  void add(double seconds, std::uint32_t epochs) {
    seconds_ += seconds;
    epochs_ += epochs;
  }
  bool is_known() const { return epochs_ > 0; }
  double per_epoch() const { return seconds_ / epochs_; }

 private:
  double seconds_ = 0;
  double epochs_ = 0;
};

}  // namespace

void RunCounts::add(Standing state) {
  switch (state) {
    case Standing::kWaiting:
      ++waiting;
      break;
    case Standing::kRunning:
      ++running;
      break;
    case Standing::kStopped:
      ++stopped;
      break;
    case Standing::kDone:
      ++done;
      break;
    case Standing::kFailed:
      ++failed;
      break;
  }
}

StudyStatus summarise(const StudyRecord& record, std::span<const RunReport> reports) {
  StudyStatus status;
  for (std::size_t i = 0; i < record.runs.size(); ++i) {
    status.counts.add(reports[i].state);
    StageStatus& stage = stage_of(record.runs[i], status.stages);
    stage.counts.add(reports[i].state);
    if (record.runs[i].epochs != stage.epochs) stage.epochs = 0;
  }
  for (StageStatus& stage : status.stages) {
    fill_arms(record, reports, stage);
    find_best(record, stage);
  }
  return status;
}

std::optional<double> seconds_left(const StudyRecord& record, std::span<const RunReport> reports,
                                   std::size_t jobs) {
  Pace overall;
  std::map<std::string, Pace> of_arm;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].state != Standing::kDone) continue;
    overall.add(reports[i].seconds, reports[i].epochs_done);
    of_arm[record.runs[i].arm].add(reports[i].seconds, reports[i].epochs_done);
  }
  if (!overall.is_known()) return std::nullopt;
  double total = 0;
  double longest = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const RunReport& report = reports[i];
    if (report.state == Standing::kDone || report.state == Standing::kFailed) continue;
    const Pace& own = of_arm[record.runs[i].arm];
    const std::uint32_t epochs =
        record.runs[i].epochs - std::min(record.runs[i].epochs, report.epochs_done);
    const double seconds = epochs * (own.is_known() ? own : overall).per_epoch();
    total += seconds;
    longest = std::max(longest, seconds);
  }
  return std::max(longest, total / static_cast<double>(std::max<std::size_t>(jobs, 1)));
}

}  // namespace impart::study
