#include "impart/placement/schedule.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

using Kind = ScheduleEvent::Kind;

void check(const ScheduleSpec& spec) {
  if (spec.epochs == 0) throw ConfigError("epochs is 0; there must be at least 1");
  if (spec.warmup > spec.epochs) {
    throw ConfigError(
        fmt::format("a warm-up of {} epochs does not fit into {}", spec.warmup, spec.epochs));
  }
}

/// The first epoch of every interval.
std::vector<std::uint32_t> interval_starts(const ScheduleSpec& spec) {
  const std::uint32_t after_warmup = spec.epochs - spec.warmup;
  if (after_warmup == 0) return {};
  const std::uint32_t count =
      spec.interval == 0 ? 1 : std::max<std::uint32_t>(1, after_warmup / spec.interval);
  std::vector<std::uint32_t> starts;
  for (std::uint32_t i = 0; i < count; ++i) starts.push_back(spec.warmup + i * spec.interval);
  return starts;
}

}  // namespace

std::vector<ScheduleEvent> make_schedule(const ScheduleSpec& spec) {
  check(spec);
  const auto starts = interval_starts(spec);
  std::vector<ScheduleEvent> events;
  std::uint32_t window_start = spec.ignore;
  for (std::uint32_t epoch = 0; epoch < spec.epochs; ++epoch) {
    const bool starts_interval = std::binary_search(starts.begin(), starts.end(), epoch);
    if (epoch == 0 || epoch < spec.warmup) {
      events.push_back({epoch, Kind::kRandom, {}});
    } else if (starts_interval) {
      if (spec.needs_importance && window_start >= epoch) {
        throw ConfigError(fmt::format(
            "ignoring the first {} epochs leaves none to learn the importance from before the "
            "repartitioning at epoch {}; ignore fewer, or warm up longer",
            spec.ignore, epoch + 1));
      }
      const std::uint32_t first = std::min(window_start, epoch);
      events.push_back({epoch, Kind::kHeuristic, {first, epoch}});
      window_start = std::max(window_start, epoch);
    } else if (spec.exchange) {
      events.push_back({epoch, Kind::kExchange, {}});
    }
  }
  return events;
}

std::string describe(const ScheduleEvent& event) {
  switch (event.kind) {
    case Kind::kRandom:
      return fmt::format("epoch {:<4} new random partition", event.epoch + 1);
    case Kind::kExchange:
      return fmt::format("epoch {:<4} exchange", event.epoch + 1);
    case Kind::kHeuristic:
      break;
  }
  if (event.window.first == event.window.last) {
    return fmt::format("epoch {:<4} repartition by the heuristic", event.epoch + 1);
  }
  return fmt::format("epoch {:<4} repartition by the heuristic, importance from epochs {}..{}",
                     event.epoch + 1, event.window.first + 1, event.window.last);
}

}  // namespace impart::placement
