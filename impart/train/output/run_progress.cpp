#include "impart/train/output/run_progress.h"

#include <utility>

namespace impart::train {

double ProgressReporter::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void ProgressReporter::set_last(const data::Task& task, std::optional<double> score) {
  task_ = task;
  score_ = score;
}

void ProgressReporter::report(std::string_view phase, const Position& position, std::uint32_t steps,
                              std::function<std::optional<double>()> running_loss) const {
  if (!observer_.progress) return;
  const double passed = seconds();
  const double speed = passed > 0 ? static_cast<double>(trained_) / passed : 0;
  const double done = position.epoch + (steps > 0 ? static_cast<double>(position.step) / steps : 0);
  const double left = (epochs_ - done) * static_cast<double>(examples_);
  const bool has_ended = phase == "checkpoint" && position.step == 0 && position.epoch > 0;
  observer_.progress({.phase = phase,
                      .epoch = position.epoch - (has_ended ? 1 : 0),
                      .epochs = epochs_,
                      .step = has_ended ? steps : position.step,
                      .steps = steps,
                      .examples_per_second = speed,
                      .seconds_left = speed > 0 ? left / speed : 0,
                      .running_loss = std::move(running_loss),
                      .task = task_,
                      .score = score_});
}

}  // namespace impart::train
