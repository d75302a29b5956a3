#include "impart/placement/step_plan.h"

#include <algorithm>

namespace impart::placement {

StepPlan::StepPlan(const Parts& order, std::uint32_t batch, Uneven uneven)
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
    list.observed = list.ids.size();
    if (uneven != Uneven::kPad || list.ids.empty()) continue;
    while (list.ids.size() < longest) {
      const ExampleId repeated = list.ids[list.ids.size() - list.observed];
      list.ids.push_back(repeated);
    }
  }
  std::size_t rows = 0;
  for (const List& list : lists_) rows = std::max(rows, list.ids.size());
  steps_ = static_cast<std::uint32_t>((rows + batch_ - 1) / batch_);
}

std::span<const ExampleId> StepPlan::batch_of(WorkerId worker, std::uint32_t step) const {
  const auto& ids = lists_[index(worker)].ids;
  const std::size_t start = std::min(step * batch_, ids.size());
  return std::span(ids).subspan(start, std::min(batch_, ids.size() - start));
}

std::size_t StepPlan::observed_of(WorkerId worker, std::uint32_t step) const {
  const List& list = lists_[index(worker)];
  const std::size_t start = std::min(step * batch_, list.observed);
  return std::min(batch_, list.observed - start);
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
      const std::size_t observed = plan.observed_of(WorkerId{worker}, step);
      visits.ids.insert(visits.ids.end(), batch.begin(), batch.end());
      visits.workers.insert(visits.workers.end(), batch.size(), WorkerId{worker});
      visits.observed.insert(visits.observed.end(), observed, true);
      visits.observed.insert(visits.observed.end(), batch.size() - observed, false);
    }
  }
  return visits;
}

}  // namespace impart::placement
