#include "impart/placement/step_plan.h"

#include <algorithm>

namespace impart::placement {

StepPlan::StepPlan(const Parts& order, std::uint32_t batch, Uneven uneven, LastStep last_step)
    : lists_(order.workers()), batch_(batch) {
  std::size_t longest = 0;
  std::size_t shortest = order.of(WorkerId{0}).size();
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    const auto ids = order.of(WorkerId{worker});
    lists_[worker].ids.assign(ids.begin(), ids.end());
    longest = std::max(longest, ids.size());
    shortest = std::min(shortest, ids.size());
  }
  for (List& list : lists_) {
    if (uneven == Uneven::kDrop) list.ids.resize(shortest);
    if (uneven != Uneven::kPad || list.ids.empty()) continue;
    const std::size_t size = list.ids.size();
    while (list.ids.size() < longest) {
      const ExampleId repeated = list.ids[list.ids.size() - size];
      list.ids.push_back(repeated);
    }
  }
  find_repeated();
  std::size_t rows = 0;
  for (const List& list : lists_) rows = std::max(rows, list.ids.size());
  steps_ = static_cast<std::uint32_t>((rows + batch_ - 1) / batch_);
  shares_last_ = last_step == LastStep::kShared && steps_ > 1 &&
                 2 * examples_in(steps_ - 1) < examples_in(steps_ - 2);
}

/// An example is in one worker's list only.
void StepPlan::find_repeated() {
  std::uint64_t ids = 0;
  for (const List& list : lists_) {
    for (const ExampleId id : list.ids) ids = std::max(ids, index(id) + 1);
  }
  std::vector<bool> seen(ids);
  for (List& list : lists_) {
    for (std::size_t i = 0; i < list.ids.size(); ++i) {
      if (seen[index(list.ids[i])]) {
        list.is_repeated.resize(list.ids.size());
        list.is_repeated[i] = true;
      }
      seen[index(list.ids[i])] = true;
    }
  }
}

std::size_t StepPlan::start_of(const List& list, std::uint64_t step) const {
  const std::size_t all = list.ids.size();
  if (step >= steps_) return all;
  if (!shares_last_ || step + 1 < steps_) return std::min<std::size_t>(step * batch_, all);
  const std::size_t before = std::min<std::size_t>((step - 1) * batch_, all);
  const std::size_t left = all - before, half = std::min((batch_ + 1) / 2, left);
  return before + std::max(half, left - std::min(left, batch_));
}

std::span<const ExampleId> StepPlan::batch_of(WorkerId worker, std::uint32_t step) const {
  const List& list = lists_[index(worker)];
  const std::size_t start = start_of(list, step);
  return std::span(list.ids).subspan(start, start_of(list, std::uint64_t{step} + 1) - start);
}

std::uint64_t StepPlan::visits_between(WorkerId worker, std::uint32_t first,
                                       std::uint32_t last) const {
  const List& list = lists_[index(worker)];
  return start_of(list, last) - start_of(list, first);
}

std::size_t StepPlan::observed_of(WorkerId worker, std::uint32_t step) const {
  const std::size_t rows = batch_of(worker, step).size();
  std::size_t observed = 0;
  for (std::size_t row = 0; row < rows; ++row) observed += is_observed(worker, step, row) ? 1 : 0;
  return observed;
}

bool StepPlan::is_observed(WorkerId worker, std::uint32_t step, std::size_t row) const {
  const List& list = lists_[index(worker)];
  return list.is_repeated.empty() || !list.is_repeated[start_of(list, step) + row];
}

std::uint64_t StepPlan::examples_in(std::uint32_t step) const {
  std::uint64_t examples = 0;
  for (std::uint32_t worker = 0; worker < workers(); ++worker) {
    examples += batch_of(WorkerId{worker}, step).size();
  }
  return examples;
}

VisitList visits_of(const StepPlan& plan, const HostedWorkers& workers, std::uint32_t first_step,
                    std::uint32_t last_step) {
  VisitList visits;
  for (std::uint32_t step = first_step; step < last_step; ++step) {
    for (std::uint32_t worker = workers.first; worker < workers.first + workers.count; ++worker) {
      const auto batch = plan.batch_of(WorkerId{worker}, step);
      visits.ids.insert(visits.ids.end(), batch.begin(), batch.end());
      visits.workers.insert(visits.workers.end(), batch.size(), WorkerId{worker});
      for (std::size_t row = 0; row < batch.size(); ++row) {
        visits.observed.push_back(plan.is_observed(WorkerId{worker}, step, row));
      }
    }
  }
  return visits;
}

}  // namespace impart::placement
