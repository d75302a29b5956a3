#include "impart/placement/expected_visits.h"

#include <algorithm>

namespace impart::placement {

std::vector<float> expected_visits(const Placement& placement, std::uint32_t epoch,
                                   std::uint32_t epochs_ahead) {
  const PlacementSpec& spec = placement.spec();
  if (spec.selection.name == kSelections[0].name) return {};
  std::vector<float> visits(placement.partition().examples());
  const std::uint32_t last =
      spec.epochs ? std::min(*spec.epochs, epoch + 1 + epochs_ahead) : epoch + 1 + epochs_ahead;
  if (epoch + 1 >= last) return {};
  const float share = 1.0f / static_cast<float>(last - epoch - 1);
  for (std::uint32_t later = epoch + 1; later < last; ++later) {
    const Selected selected = placement.select(later);
    for (std::uint32_t worker = 0; worker < selected.visits.workers(); ++worker) {
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) visits[index(id)] += share;
    }
  }
  return visits;
}

bool keeps_parts_after(const ScheduleSpec& schedule, std::uint32_t epoch) {
  const bool is_last = !schedule.open_end && epoch + 1 >= schedule.epochs;
  const auto next = event_at(schedule, is_last ? epoch : epoch + 1);
  return !next || next->kind == ScheduleEvent::Kind::kExchange;
}

}  // namespace impart::placement
