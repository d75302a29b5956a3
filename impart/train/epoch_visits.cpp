#include "impart/train/epoch_visits.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <torch/torch.h>

namespace impart::train {
namespace {

constexpr std::size_t kObserveBatch = 4096;

/// Mean losses of the steps from `first` on. `losses` are of all visits, `steps` of the last ones.
std::vector<double> average_by_step(std::span<const float> losses,
                                    std::span<const std::uint32_t> steps, std::uint32_t first,
                                    std::uint32_t end) {
  std::vector<double> sums(end - first), counts(end - first);
  const auto recent = losses.last(std::min(losses.size(), steps.size()));
  for (std::size_t i = 0; i < recent.size(); ++i) {
    sums[steps[i] - first] += double{recent[i]};
    counts[steps[i] - first] += 1;
  }
  for (std::size_t step = 0; step < sums.size(); ++step) sums[step] /= counts[step];
  return sums;
}

}  // namespace

run::Visits EpochVisits::gather(std::uint32_t last_step) {
  gather_skipped();
  const torch::Tensor mine = engine_.collected_signals();
  return run::gather_visits(
      {.plan = plan_,
       .first_step = first_step_,
       .last_step = last_step,
       .signals = static_cast<std::size_t>(mine.size(0)),
       .mine = {mine.data_ptr<float>(), static_cast<std::size_t>(mine.numel())},
       .earlier = &earlier_,
       .skipped = &skipped_},
      communicator_);
}

/// Examples that a process could not read are unobserved on all of them.
void EpochVisits::gather_skipped() {
  const auto skipped = feed_.take_skipped();
  std::array<std::int64_t, 1> count = {static_cast<std::int64_t>(skipped.size())};
  communicator_.all_reduce_sum(std::span<std::int64_t>(count));
  if (count[0] == 0) return;
  std::vector<std::int64_t> flags(feed_.examples());
  for (const data::SkippedExample& example : skipped) {
    flags[index(example.id)] = 1;
    const bool is_new = told_.insert(index(example.id)).second;
    if (is_new && observer_.note) observer_.note("left out: " + example.reason);
  }
  communicator_.all_reduce_max(std::span<std::int64_t>(flags));
  skipped_.resize(flags.size());
  for (std::size_t id = 0; id < flags.size(); ++id) skipped_[id] = skipped_[id] || flags[id] != 0;
}

void EpochVisits::refresh(const placement::Parts& lists, importance::ImportanceTable& table,
                          std::uint32_t epoch) {
  const MeasuredExamples seen = engine_.measure(lists);
  table.observe(epoch, seen.ids, engine_.signals().view(seen.values, seen.ids.size()));
}

void EpochVisits::observe(importance::ImportanceTable& table, std::uint32_t epoch) {
  const auto [ids, values, steps] = gather(plan_->steps());
  earlier_ = {};
  const std::uint64_t bad_before = table.non_finite_visits();
  const importance::Signals whole = engine_.signals().view(values, ids.size());
  for (std::size_t start = 0; start < ids.size(); start += kObserveBatch) {
    const std::size_t rows = std::min(kObserveBatch, ids.size() - start);
    table.observe(epoch, std::span(ids).subspan(start, rows),
                  importance::subrange(whole, start, rows));
  }
  double loss = 0, correct = 0;
  for (const float value : whole.loss) loss += double{value};
  for (const float value : whole.correct) correct += double{value};
  const auto visits = static_cast<double>(std::max<std::size_t>(1, ids.size()));
  facts_ = {
      .train_loss = loss / visits,
      .train_accuracy = 100 * correct / visits,
      .non_finite = table.non_finite_visits() - bad_before,
      .skipped = static_cast<std::uint64_t>(std::count(skipped_.begin(), skipped_.end(), true)),
      .first_step = first_step_,
      .step_losses = average_by_step(whole.loss, steps, first_step_, plan_->steps())};
  skipped_.clear();
  if (facts_.non_finite == 0 || communicator_.rank() != 0 || !observer_.note) return;
  observer_.note(
      fmt::format("epoch {}: {} visits had a NaN or infinite signal; these examples rank as "
                  "the most important",
                  epoch + 1, facts_.non_finite));
}

}  // namespace impart::train
