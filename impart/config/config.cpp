#include "impart/config/config.h"

#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections/published.h"

namespace impart::config {
namespace {

placement::SelectionSpec selection_numbers(const RunConfig& config,
                                           const placement::PublishedSelection& published) {
  const SelectionConfig& selection = config.selection;
  return {.share = selection.share.value_or(published.share),
          .final_epochs = selection.final
                              ? selection.final->of(config.epochs)
                              : placement::published_final_epochs(published, config.epochs),
          .multiple = selection.whole_steps ? config.workers.batch : 1,
          .scope = selection.scope,
          .confidence = selection.confidence,
          .budget = selection.budget,
          .mix = selection.mix,
          .threshold = selection.threshold,
          .after = selection.after.of(config.epochs),
          .prune = selection.prune,
          .start = selection.start,
          .ramp = selection.ramp.of(config.epochs),
          .growth = selection.growth,
          .epsilon = selection.epsilon};
}

}  // namespace

const placement::OuterEntry& outer_rule(const WorkersConfig& workers) {
  return find_entry(placement::kOuters, "outer", workers.outer);
}

placement::OuterRates outer_rates(const WorkersConfig& workers, double inner_lr) {
  const placement::OuterEntry& rule = outer_rule(workers);
  return {.lr = workers.outer_lr.value_or(rule.lr),
          .momentum = workers.outer_momentum.value_or(rule.momentum),
          .inner_lr = inner_lr};
}

placement::PlacementSpec placement_spec(const RunConfig& config, const placement::OwnRows& own) {
  placement::PlacementSpec spec{
      .seed = seed_of(config, &RunConfig::seed_order),
      .workers = config.workers.count,
      .epochs = config.epochs,
      .start = find_entry(placement::kStarts, own.starts, "start", config.partition.start),
      .alpha = config.partition.alpha,
      .sizes = config.partition.sizes,
      .warmup = config.partition.warmup.of(config.epochs),
      .warmup_shuffle = config.partition.warmup_shuffle,
      .interval = config.partition.interval.of(config.epochs),
      .heuristic = find_entry(placement::kHeuristics, own.heuristics, "heuristic",
                              config.partition.heuristic),
      .strength = config.partition.strength,
      .sticky = config.partition.sticky,
      .fraction = config.exchange.fraction,
      .arrivals_last = config.exchange.arrivals_last,
      .selection = find_entry(placement::kSelections, own.selections, "selection",
                              config.selection.strategy),
      .notion = find_entry(importance::kNotions, own.notions, "notion", config.importance.notion),
      .ignore = config.importance.ignore.of(config.epochs),
      .window = config.importance.window,
      .history = config.importance.history,
      .shuffle = config.workers.shuffle};
  if (config.exchange.strategy != kNoExchange) {
    spec.exchange =
        find_entry(placement::kExchanges, own.exchanges, "exchange", config.exchange.strategy);
  }
  spec.selecting = selection_numbers(config, spec.selection.published);
  for (const std::string& name : config.importance.record) {
    spec.record.push_back(find_entry(importance::kNotions, own.notions, "notion", name));
  }
  return spec;
}

}  // namespace impart::config
