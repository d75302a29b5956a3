#include "impart/config/config.h"

#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"

namespace impart::config {

placement::PlacementSpec placement_spec(const RunConfig& config, const placement::OwnRows& own) {
  placement::PlacementSpec spec{
      .seed = seed_of(config, &RunConfig::seed_order),
      .workers = config.workers.count,
      .epochs = config.epochs,
      .warmup = config.partition.warmup.of(config.epochs),
      .interval = config.partition.interval.of(config.epochs),
      .heuristic = find_entry(placement::kHeuristics, own.heuristics, "heuristic",
                              config.partition.heuristic),
      .sticky = config.partition.sticky,
      .fraction = config.exchange.fraction,
      .arrivals_last = config.exchange.arrivals_last,
      .notion = find_entry(importance::kNotions, own.notions, "notion", config.importance.notion),
      .ignore = config.importance.ignore.of(config.epochs),
      .window = config.importance.window,
      .history = config.importance.history,
      .shuffle = config.workers.shuffle};
  if (config.exchange.strategy != kNoExchange) {
    spec.exchange =
        find_entry(placement::kExchanges, own.exchanges, "exchange", config.exchange.strategy);
  }
  for (const std::string& name : config.importance.record) {
    spec.record.push_back(find_entry(importance::kNotions, own.notions, "notion", name));
  }
  return spec;
}

}  // namespace impart::config
