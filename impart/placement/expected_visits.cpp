#include "impart/placement/expected_visits.h"

#include <algorithm>

#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {
namespace {

constexpr std::uint64_t kLevels = 64;  ///< that the visits around an example are rounded to

/// Over all these epochs together.
std::vector<std::uint64_t> count_later_visits(const LaterVisits& later) {
  std::vector<std::uint64_t> counts(later.examples);
  for (std::uint32_t epoch = later.first; epoch < later.last; ++epoch) {
    const Selected selected = later.select(epoch);
    for (std::uint32_t worker = 0; worker < selected.visits.workers(); ++worker) {
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) ++counts[index(id)];
    }
  }
  return counts;
}

/// Of a part: the mean of an example's own visits and of those around it.
void average_by_score(std::span<const ExampleId> part, std::span<const std::uint64_t> counts,
                      const LaterVisits& later, std::vector<float>& visits) {
  std::vector<ExampleId> order(part.begin(), part.end());
  std::stable_sort(order.begin(), order.end(), [&](ExampleId a, ExampleId b) {
    return later.scores[index(a)] > later.scores[index(b)];
  });
  std::vector<std::uint64_t> sums = {0};
  for (const ExampleId id : order) sums.push_back(sums.back() + counts[index(id)]);
  const std::uint64_t size = order.size(), half = size / 2;
  const auto epochs = static_cast<float>(later.last - later.first);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t first = i - std::min(i, half), last = std::min(size, i + half + 1);
    const std::uint64_t chances = (last - first) * (later.last - later.first);
    const std::uint64_t level = (kLevels * (sums[last] - sums[first]) + chances - 1) / chances;
    const auto around = static_cast<float>(level) / kLevels;
    const auto own = static_cast<float>(counts[index(order[i])]) / epochs;
    visits[index(order[i])] = (own + around) / 2;
  }
}

}  // namespace

std::vector<float> expected_visits(const LaterVisits& later, const Parts& parts) {
  const std::vector<std::uint64_t> counts = count_later_visits(later);
  std::vector<float> visits(later.examples);
  if (later.scores.empty()) {
    const auto epochs = static_cast<float>(later.last - later.first);
    for (std::size_t i = 0; i < visits.size(); ++i) {
      visits[i] = static_cast<float>(counts[i]) / epochs;
    }
    return visits;
  }
  Hidden gone(later.examples);
  for (const ExampleId id : later.gone) gone[index(id)] = true;
  const Parts left = leave_out(parts, gone);
  for (std::uint32_t worker = 0; worker < left.workers(); ++worker) {
    average_by_score(left.of(WorkerId{worker}), counts, later, visits);
  }
  return visits;
}

std::vector<float> expected_visits(const Placement& placement, std::uint32_t epoch,
                                   std::uint32_t epochs_ahead) {
  const PlacementSpec& spec = placement.spec();
  if (spec.selection.name == kSelections[0].name) return {};
  const std::uint32_t end = epoch + 1 + epochs_ahead;
  const std::uint32_t last = std::min(spec.epochs.value_or(end), end);
  if (epoch + 1 >= last) return {};
  const std::vector<float> scores = placement.selection_scores();
  return expected_visits({.select = [&](std::uint32_t later) { return placement.select(later); },
                          .first = epoch + 1,
                          .last = last,
                          .examples = placement.partition().examples(),
                          .scores = scores,
                          .gone = placement.gone()},
                         placement.partition().parts());
}

bool keeps_parts_after(const ScheduleSpec& schedule, std::uint32_t epoch) {
  const bool is_last = !schedule.open_end && epoch + 1 >= schedule.epochs;
  const auto next = event_at(schedule, is_last ? epoch : epoch + 1);
  return !next || next->kind == ScheduleEvent::Kind::kExchange;
}

}  // namespace impart::placement
