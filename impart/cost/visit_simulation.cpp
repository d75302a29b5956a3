#include "impart/cost/visit_simulation.h"

#include <limits>

#include "impart/config/config.h"
#include "impart/cost/synthetic_importance.h"

namespace impart::cost {
namespace {

/// The decisions of a run that selects by what it is told, in parts that stay.
placement::PlacementSpec only_selecting(placement::PlacementSpec decisions) {
  decisions.heuristic = find_entry(placement::kHeuristics, "heuristic", "random");
  decisions.exchange.reset();
  decisions.warmup = decisions.interval = 0;
  decisions.selecting.confidence = std::numeric_limits<double>::min();
  return decisions;
}

}  // namespace

VisitShares shares_of(const placement::Selected& selected, std::uint64_t examples, bool refreshes) {
  const placement::VisitCounts counts = placement::count_visits(selected, examples);
  const auto all = static_cast<double>(examples);
  VisitShares shares{.visits = static_cast<double>(counts.visits) / all,
                     .hidden = static_cast<double>(counts.hidden) / all};
  if (refreshes) shares.refreshed = shares.hidden;
  return shares;
}

std::vector<VisitShares> simulate_visits(const placement::PlacementSpec& decisions,
                                         const SimulatedPlacementSpec& spec) {
  const std::uint32_t epochs = decisions.epochs.value();
  std::vector<VisitShares> shares(epochs);
  if (decisions.selection.name == config::kNoSelection || spec.examples == 0) return shares;
  placement::Ownership ownership(only_selecting(decisions), {.examples = spec.examples});
  SyntheticImportance importance(
      {.examples = spec.examples, .seed = decisions.seed, .drift = spec.drift});
  std::vector<float> scores(spec.examples, std::numeric_limits<float>::infinity());
  const std::vector<std::uint8_t> correct(spec.examples, 1);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    ownership.prepare_epoch(epoch, {});
    const placement::Selected selected =
        ownership.select(epoch, {.notion = [&] { return scores; },
                                 .training_loss = [&] { return scores; },
                                 .correct = [&] { return correct; }});
    ownership.end_epoch(selected);
    shares[epoch] = shares_of(selected, spec.examples, decisions.selection.needs.refresh);
    const auto seen = importance.at(epoch);
    scores.assign(seen.begin(), seen.end());
  }
  return shares;
}

}  // namespace impart::cost
