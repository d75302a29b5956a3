#include "impart/train/epoch_selection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/train/update/learning_rate.h"

namespace impart::train {
namespace {

std::uint64_t count_examples(const placement::Parts& lists) {
  std::uint64_t examples = 0;
  for (std::uint32_t worker = 0; worker < lists.workers(); ++worker) {
    examples += lists.of(WorkerId{worker}).size();
  }
  return examples;
}

/// Nothing for anybody.
placement::Parts no_lists(std::uint32_t workers) {
  return placement::Parts(std::vector<std::uint64_t>(workers));
}

/// A selection's epochs end anywhere, and a step of a few examples at the full learning rate undoes
/// much of the epoch.
placement::LastStep last_step(const config::RunConfig& config) {
  return config.selection.strategy == config::kNoSelection ? placement::LastStep::kShort
                                                           : placement::LastStep::kShared;
}

}  // namespace

EpochSelection::EpochSelection(const config::RunConfig& config, const RunData& data,
                               placement::Placement& placement)
    : config_(config),
      data_(data),
      placement_(placement),
      times_hidden_(config.selection.strategy == config::kNoSelection ? 0 : data.examples) {}

void EpochSelection::restore(std::vector<std::uint32_t> times_hidden) {
  if (times_hidden.size() == times_hidden_.size()) times_hidden_ = std::move(times_hidden);
}

void EpochSelection::begin(std::uint32_t epoch, std::uint64_t visits_before) {
  epoch_ = epoch;
  selected_ = placement_.select(epoch);
  counts_ = placement::count_visits(*selected_, data_.examples);
  if (counts_.visits == 0 && config_.selection.strategy != config::kNoSelection) {
    throw ConfigError(
        fmt::format("selection.strategy: {} leaves nothing to visit in epoch {}; take a smaller "
                    "selection.share, or a larger selection.budget",
                    config_.selection.strategy, epoch + 1));
  }
  plan_ = std::make_unique<placement::StepPlan>(placement_.order(epoch, selected_->visits),
                                                config_.workers.batch, config_.workers.uneven,
                                                last_step(config_));
  if (plan_->steps() == 0) {
    throw ConfigError(
        "workers.uneven: drop cuts all parts to the shortest, which is empty; take weight, or a "
        "partition.start that gives every worker something");
  }
  visits_at_.clear();
  auto visits = static_cast<double>(visits_before);
  for (std::uint32_t step = 0; step < plan_->steps(); ++step) {
    visits_at_.push_back(visits);
    visits += static_cast<double>(plan_->examples_in(step));
  }
}

double EpochSelection::learning_rate_at(std::uint32_t step) const {
  using By = config::OptimizerConfig::ScheduleBy;
  const auto examples = static_cast<double>(data_.examples);
  double progress = epoch_ + static_cast<double>(step) / plan_->steps();
  std::uint32_t steps_of_1 = plan_->steps();
  if (config_.optimizer.schedule_by == By::kVisits) {
    progress = visits_at_[step] / examples;
    const auto rows = static_cast<double>(plan_->examples_in(step));
    steps_of_1 = static_cast<std::uint32_t>(examples / std::max(1.0, rows));
  }
  const double rate = learning_rate(config_.optimizer, progress, config_.epochs, steps_of_1);
  if (config_.selection.lr == config::SelectionConfig::Rate::kKeep) return rate;
  return rate * examples / static_cast<double>(data_.examples - counts_.hidden);
}

placement::Parts EpochSelection::to_refresh() const {
  const placement::Partition& partition = placement_.partition();
  if (!placement_.spec().selection.needs.refresh) return no_lists(partition.workers());
  return placement::hidden_parts(partition.parts(), *selected_, data_.examples);
}

run::VisitCosts EpochSelection::end(run::RunSummary& summary) {
  const std::uint64_t refreshed = count_examples(to_refresh());
  run::VisitCosts costs{.visits = counts_.visits,
                        .hidden = counts_.hidden,
                        .refreshed = refreshed,
                        .max_over_mean = counts_.max_over_mean};
  if (data_.visited_payloads && refreshed == 0) {
    const placement::Parts hidden =
        placement::hidden_parts(placement_.partition().parts(), *selected_, data_.examples);
    for (std::uint32_t worker = 0; worker < hidden.workers(); ++worker) {
      for (const ExampleId id : hidden.of(WorkerId{worker})) {
        costs.bytes_saved += data_.visited_payloads->payload_bytes(id);
      }
    }
  }
  placement_.end_epoch(*selected_);
  placement::count_hidden(*selected_, times_hidden_);
  summary.visits += costs.visits;
  summary.visits_hidden += costs.hidden;
  summary.visits_refreshed += costs.refreshed;
  summary.bytes_saved += costs.bytes_saved;
  summary.visits_max_over_mean +=
      (costs.max_over_mean - summary.visits_max_over_mean) / (epoch_ + 1);
  return costs;
}

}  // namespace impart::train
