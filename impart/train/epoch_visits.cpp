#include "impart/train/epoch_visits.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/run/gather_ids.h"

namespace impart::train {
namespace {

/// Means over the visits of each step from `first` on.
class StepMeans {
 public:
  StepMeans(std::uint32_t first, std::uint32_t end)
      : first_(first), sums_(end - first), counts_(end - first) {}

  /// Visits of whose steps nothing is known count for none.
  void add(std::span<const float> values, std::span<const std::uint32_t> steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      sums_[steps[i] - first_] += double{values[i]};
      counts_[steps[i] - first_] += 1;
    }
  }

  std::vector<double> finish() {
    for (std::size_t step = 0; step < sums_.size(); ++step) sums_[step] /= counts_[step];
    return std::move(sums_);
  }

 private:
  std::uint32_t first_;
  std::vector<double> sums_, counts_;
};

}  // namespace

run::Visits EpochVisits::gather(std::uint32_t last_step) {
  gather_skipped();
  const torch::Tensor mine = engine_.collected_signals();
  return run::gather_visits(asked(mine, last_step), communicator_);
}

/// `mine` must outlive it.
run::GatherVisitsSpec EpochVisits::asked(const torch::Tensor& mine, std::uint32_t last_step) const {
  return {.plan = plan_,
          .first_step = first_step_,
          .last_step = last_step,
          .signals = static_cast<std::size_t>(mine.size(0)),
          .mine = {mine.data_ptr<float>(), static_cast<std::size_t>(mine.numel())},
          .earlier = &earlier_,
          .skipped = &skipped_};
}

/// Examples that a process could not read are unobserved on all of them.
void EpochVisits::gather_skipped() {
  const auto skipped = feed_.take_skipped();
  std::array<std::int64_t, 1> count = {static_cast<std::int64_t>(skipped.size())};
  communicator_.all_reduce_sum(std::span<std::int64_t>(count));
  if (count[0] == 0) return;
  std::vector<ExampleId> mine;
  for (const data::SkippedExample& example : skipped) {
    mine.push_back(example.id);
    const bool is_new = told_.insert(index(example.id)).second;
    if (is_new && observer_.note) observer_.note("left out: " + example.reason);
  }
  skipped_.resize(feed_.examples());
  for (const ExampleId id : run::gather_ids(mine, communicator_)) skipped_[index(id)] = true;
}

void EpochVisits::refresh(const placement::Parts& lists, importance::ImportanceTable& table,
                          std::uint32_t epoch) {
  const MeasuredExamples seen = engine_.measure(lists);
  table.observe(epoch, seen.ids, engine_.signals().view(seen.values, seen.ids.size()));
}

void EpochVisits::observe(importance::ImportanceTable& table, std::uint32_t epoch) {
  gather_skipped();
  const torch::Tensor mine = engine_.collected_signals();
  const std::uint64_t bad_before = table.non_finite_visits();
  StepMeans losses(first_step_, plan_->steps());
  double loss = 0, correct = 0;
  std::size_t count = 0;
  run::show_visits(asked(mine, plan_->steps()), communicator_, [&](const run::Visits& piece) {
    const importance::Signals signals = engine_.signals().view(piece.values, piece.ids.size());
    table.observe(epoch, piece.ids, signals);
    for (const float value : signals.loss) loss += double{value};
    for (const float value : signals.correct) correct += double{value};
    losses.add(signals.loss, piece.steps);
    count += piece.ids.size();
  });
  earlier_ = {};
  const auto visits = static_cast<double>(std::max<std::size_t>(1, count));
  facts_ = {
      .train_loss = loss / visits,
      .train_accuracy = 100 * correct / visits,
      .non_finite = table.non_finite_visits() - bad_before,
      .skipped = static_cast<std::uint64_t>(std::count(skipped_.begin(), skipped_.end(), true)),
      .first_step = first_step_,
      .step_losses = losses.finish()};
  skipped_.clear();
  if (facts_.non_finite == 0 || communicator_.rank() != 0 || !observer_.note) return;
  observer_.note(
      fmt::format("epoch {}: {} visits had a NaN or infinite signal; these examples rank as "
                  "the most important",
                  epoch + 1, facts_.non_finite));
}

}  // namespace impart::train
