#include "impart/run/gather_visits.h"

#include "impart/placement/hosted_workers.h"

namespace impart::run {
namespace {

/// The rows of one process, and which of them count.
placement::VisitList rows_of(const GatherVisitsSpec& spec, std::uint32_t rank,
                             std::uint32_t processes) {
  const placement::HostedWorkers hosted =
      placement::hosted_workers(spec.plan->workers(), rank, processes);
  placement::VisitList list =
      placement::visits_of(*spec.plan, hosted, spec.first_step, spec.last_step);
  if (spec.skipped == nullptr || spec.skipped->empty()) return list;
  for (std::size_t row = 0; row < list.ids.size(); ++row) {
    if ((*spec.skipped)[index(list.ids[row])]) list.observed[row] = false;
  }
  return list;
}

/// The steps of these rows.
std::vector<std::uint32_t> steps_of(const GatherVisitsSpec& spec, std::uint32_t rank,
                                    std::uint32_t processes) {
  const placement::HostedWorkers hosted =
      placement::hosted_workers(spec.plan->workers(), rank, processes);
  std::vector<std::uint32_t> steps;
  for (std::uint32_t step = spec.first_step; step < spec.last_step; ++step) {
    for (std::uint32_t i = 0; i < hosted.count; ++i) {
      const auto batch = spec.plan->batch_of(WorkerId{hosted.first + i}, step);
      steps.insert(steps.end(), batch.size(), step);
    }
  }
  return steps;
}

}  // namespace

Visits gather_visits(const GatherVisitsSpec& spec, comm::Communicator& communicator) {
  std::vector<std::size_t> counts;
  std::vector<placement::VisitList> lists;
  std::size_t total = 0;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    lists.push_back(rows_of(spec, rank, communicator.size()));
    counts.push_back(spec.signals * lists.back().ids.size());
    total += counts.back();
  }
  std::vector<float> all(total);
  communicator.all_gather(spec.mine, counts, std::span<float>(all));

  // From [process][signal][row] to [signal][row].
  Visits visits;
  if (spec.earlier != nullptr) visits.ids = spec.earlier->ids;
  const std::size_t before = visits.ids.size();
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    const placement::VisitList& list = lists[rank];
    const std::vector<std::uint32_t> steps = steps_of(spec, rank, communicator.size());
    for (std::size_t row = 0; row < list.ids.size(); ++row) {
      if (!list.observed[row]) continue;
      visits.ids.push_back(list.ids[row]);
      visits.steps.push_back(steps[row]);
    }
  }
  visits.values.reserve(spec.signals * visits.ids.size());
  for (std::size_t signal = 0; signal < spec.signals; ++signal) {
    if (before > 0) {
      const auto earlier = std::span(spec.earlier->values).subspan(signal * before, before);
      visits.values.insert(visits.values.end(), earlier.begin(), earlier.end());
    }
    const float* block = all.data();
    for (const placement::VisitList& list : lists) {
      const float* values = block + signal * list.ids.size();
      for (std::size_t row = 0; row < list.ids.size(); ++row) {
        if (list.observed[row]) visits.values.push_back(values[row]);
      }
      block += spec.signals * list.ids.size();
    }
  }
  return visits;
}

}  // namespace impart::run
