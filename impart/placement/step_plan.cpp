#include "impart/placement/step_plan.h"

#include <algorithm>
#include <utility>

namespace impart::placement {

namespace {

std::vector<std::size_t> lengths_of(const Parts& order) {
  std::vector<std::size_t> lengths;
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    lengths.push_back(order.of(WorkerId{worker}).size());
  }
  return lengths;
}

/// All lists as long as the longest, but for empty ones: they begin anew at their end.
Parts padded(const Parts& order) {
  const std::vector<std::size_t> lengths = lengths_of(order);
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::uint64_t> sizes;
  for (const std::size_t length : lengths) sizes.push_back(length == 0 ? 0 : longest);
  Parts longer(sizes);
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    const auto from = order.of(WorkerId{worker});
    const auto to = longer.of(WorkerId{worker});
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i % from.size()];
  }
  return longer;
}

}  // namespace

StepPlan::StepPlan(Parts order, std::uint32_t batch, Uneven uneven, LastStep last_step)
    : order_(uneven == Uneven::kPad ? padded(order) : std::move(order)),
      lengths_(lengths_of(order_)),
      is_repeated_(order_.workers()),
      batch_(batch) {
  if (uneven == Uneven::kDrop) {
    const std::size_t shortest = *std::min_element(lengths_.begin(), lengths_.end());
    std::fill(lengths_.begin(), lengths_.end(), shortest);
  }
  find_repeated();
  const std::size_t rows = *std::max_element(lengths_.begin(), lengths_.end());
  steps_ = static_cast<std::uint32_t>((rows + batch_ - 1) / batch_);
  shares_last_ = last_step == LastStep::kShared && steps_ > 1 &&
                 2 * examples_in(steps_ - 1) < examples_in(steps_ - 2);
}

/// An example is in one worker's list only.
void StepPlan::find_repeated() {
  std::uint64_t ids = 0;
  for (std::uint32_t worker = 0; worker < workers(); ++worker) {
    for (const ExampleId id : list_of(WorkerId{worker})) ids = std::max(ids, index(id) + 1);
  }
  std::vector<bool> seen(ids);
  for (std::uint32_t worker = 0; worker < workers(); ++worker) {
    const auto list = list_of(WorkerId{worker});
    std::vector<bool>& is_repeated = is_repeated_[worker];
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (seen[index(list[i])]) {
        is_repeated.resize(list.size());
        is_repeated[i] = true;
      }
      seen[index(list[i])] = true;
    }
  }
}

std::size_t StepPlan::start_of(WorkerId worker, std::uint64_t step) const {
  const std::size_t all = lengths_[index(worker)];
  if (step >= steps_) return all;
  if (!shares_last_ || step + 1 < steps_) return std::min<std::size_t>(step * batch_, all);
  const std::size_t before = std::min<std::size_t>((step - 1) * batch_, all);
  const std::size_t left = all - before, half = std::min((batch_ + 1) / 2, left);
  return before + std::max(half, left - std::min(left, batch_));
}

std::span<const ExampleId> StepPlan::batch_of(WorkerId worker, std::uint32_t step) const {
  const std::size_t start = start_of(worker, step);
  return list_of(worker).subspan(start, start_of(worker, std::uint64_t{step} + 1) - start);
}

std::uint64_t StepPlan::visits_between(WorkerId worker, std::uint32_t first,
                                       std::uint32_t last) const {
  return start_of(worker, last) - start_of(worker, first);
}

std::size_t StepPlan::observed_of(WorkerId worker, std::uint32_t step) const {
  const std::size_t rows = batch_of(worker, step).size();
  std::size_t observed = 0;
  for (std::size_t row = 0; row < rows; ++row) observed += is_observed(worker, step, row) ? 1 : 0;
  return observed;
}

bool StepPlan::is_observed(WorkerId worker, std::uint32_t step, std::size_t row) const {
  const std::vector<bool>& is_repeated = is_repeated_[index(worker)];
  return is_repeated.empty() || !is_repeated[start_of(worker, step) + row];
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
