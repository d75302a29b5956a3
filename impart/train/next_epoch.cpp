#include "impart/train/next_epoch.h"

#include <algorithm>
#include <vector>

#include "impart/data/payloads/read_ahead.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/schedule.h"
#include "impart/placement/step_plan.h"

namespace impart::train {
namespace {

bool partition_stays(const placement::Placement& placement, std::uint32_t epoch) {
  const auto events = placement::make_schedule(placement::schedule_spec(placement.spec()));
  return std::ranges::none_of(
      events, [&](const placement::ScheduleEvent& event) { return event.epoch == epoch; });
}

}  // namespace

void plan_next_epoch(const config::RunConfig& config, const placement::Placement& placement,
                     const RunData& data, const comm::Communicator& communicator,
                     std::uint32_t epoch) {
  data::ReadAhead* const ahead =
      data.visited_payloads ? data.visited_payloads->read_ahead() : nullptr;
  const std::uint32_t next = epoch + 1;
  const bool is_known = config.selection.strategy == config::kNoSelection;
  if (ahead == nullptr || next >= config.epochs || !is_known || !partition_stays(placement, next)) {
    return;
  }
  const placement::StepPlan plan(placement.order(next), config.workers.batch,
                                 config.workers.uneven);
  const auto hosted =
      placement::hosted_workers(config.workers.count, communicator.rank(), communicator.size());
  ahead->plan_more(placement::visits_of(plan, hosted, 0, plan.steps()).ids);
}

}  // namespace impart::train
