#include "impart/train/config.h"

#include "impart/importance/notions.h"
#include "impart/partition/heuristics.h"

namespace impart {

ScheduleSpec schedule_spec(const RunConfig& config, const OwnRows& own) {
  const auto& heuristic =
      find_entry(kHeuristics, own.heuristics, "heuristic", config.partition.heuristic);
  const auto& notion = find_entry(kNotions, own.notions, "notion", config.importance.notion);
  return {.epochs = config.epochs,
          .warmup = config.partition.warmup,
          .interval = config.partition.interval,
          .ignore = config.importance.ignore,
          .exchange = config.exchange.strategy != kNoExchange,
          .needs_importance = heuristic.uses_importance && needs_visits(notion)};
}

}  // namespace impart
