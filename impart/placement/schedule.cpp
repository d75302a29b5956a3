#include "impart/placement/schedule.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

using Kind = ScheduleEvent::Kind;

void check(const ScheduleSpec& spec) {
  if (spec.epochs == 0) throw ConfigError("epochs is 0; there must be at least 1");
  if (spec.warmup > spec.epochs && !spec.open_end) {
    throw ConfigError(
        fmt::format("a warm-up of {} epochs does not fit into {}", spec.warmup, spec.epochs));
  }
}

bool starts_interval(const ScheduleSpec& spec, std::uint64_t epoch) {
  if (epoch < spec.warmup) return false;
  const std::uint64_t after_warmup = epoch - spec.warmup;
  if (after_warmup == 0 || spec.interval == 0) return after_warmup == 0;
  // The last interval absorbs what does not fill another one.
  const bool fits = spec.open_end || epoch + spec.interval <= spec.epochs;
  return after_warmup % spec.interval == 0 && fits;
}

/// The epochs that a repartitioning by the heuristic learns from: those since the one before.
EpochRange window_before(const ScheduleSpec& spec, std::uint32_t epoch) {
  const std::uint32_t first_possible = std::max(1u, spec.warmup);
  const bool is_first = spec.interval == 0 || epoch < first_possible + spec.interval;
  const std::uint32_t start = std::max(spec.ignore, is_first ? 0 : epoch - spec.interval);
  if (spec.needs_importance && start >= epoch) {
    throw ConfigError(fmt::format(
        "ignoring the first {} epochs leaves none to learn the importance from before the "
        "repartitioning at epoch {}; ignore fewer, or warm up longer",
        spec.ignore, epoch + 1));
  }
  return {std::min(start, epoch), epoch};
}

}  // namespace

std::optional<ScheduleEvent> event_at(const ScheduleSpec& spec, std::uint32_t epoch) {
  if (epoch >= spec.epochs && !spec.open_end) return std::nullopt;
  if (epoch == 0 && spec.has_start) return ScheduleEvent{epoch, Kind::kStart, {}};
  const bool shuffles = !spec.has_start || spec.warmup_shuffle;
  if (epoch == 0 || (epoch < spec.warmup && shuffles)) {
    return ScheduleEvent{epoch, Kind::kRandom, {}};
  }
  if (epoch < spec.warmup) return std::nullopt;
  if (starts_interval(spec, epoch)) {
    return ScheduleEvent{epoch, Kind::kHeuristic, window_before(spec, epoch)};
  }
  if (spec.exchange) return ScheduleEvent{epoch, Kind::kExchange, {}};
  return std::nullopt;
}

std::vector<ScheduleEvent> make_schedule(const ScheduleSpec& spec) {
  check(spec);
  std::vector<ScheduleEvent> events;
  for (std::uint32_t epoch = 0; epoch < spec.epochs; ++epoch) {
    if (const auto event = event_at(spec, epoch)) events.push_back(*event);
  }
  return events;
}

std::string describe(const ScheduleEvent& event) {
  switch (event.kind) {
    case Kind::kRandom:
      return fmt::format("epoch {:<4} new random partition", event.epoch + 1);
    case Kind::kExchange:
      return fmt::format("epoch {:<4} exchange", event.epoch + 1);
    case Kind::kStart:
      return fmt::format("epoch {:<4} partition of the start", event.epoch + 1);
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
