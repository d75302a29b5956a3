#include "impart/cost/move_simulation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"

namespace impart::cost {
namespace {

using Kind = placement::ScheduleEvent::Kind;
constexpr std::size_t kKinds = 4;

std::size_t position(Kind kind) {
  return static_cast<std::size_t>(kind);
}

/// The mean of the events that were carried out, by kind.
class SteadyState {
 public:
  void add(const EventMoves& moves) {
    if (moves.event.epoch == 0) return;
    Sums& sums = sums_[position(moves.event.kind)];
    // The first of a kind counts only as long as there is no other.
    if (sums.seen++ == 1) sums.moved = sums.flows = sums.peak = 0, sums.count = 0;
    sums.moved += moves.moved;
    sums.flows += moves.flows;
    sums.peak = std::max(sums.peak, moves.peak);
    ++sums.count;
  }

  void fill(EventMoves& moves) const {
    const Sums& sums = sums_[position(moves.event.kind)];
    const double count = std::max(1.0, sums.count);
    moves.moved = sums.moved / count;
    moves.flows = sums.flows / count;
    moves.peak = sums.peak;
  }

 private:
  struct Sums {
    double moved = 0, flows = 0, peak = 0, count = 0;
    std::uint64_t seen = 0;
  };
  std::array<Sums, kKinds> sums_{};
};

std::uint64_t smallest_part(std::uint64_t examples, std::uint32_t workers) {
  return examples / workers;
}

/// Two partitions into parts of sizes s that know nothing of each other agree on Σ s²/N examples.
double moves_of_random(std::uint64_t examples, std::uint32_t workers) {
  if (examples == 0) return 0;
  const auto total = static_cast<double>(examples);
  const auto small = static_cast<double>(smallest_part(examples, workers));
  const auto large_parts = static_cast<double>(examples % workers);
  const double squares =
      large_parts * (small + 1) * (small + 1) + (workers - large_parts) * small * small;
  return total - squares / total;
}

/// By one example that every worker gives; none if there is no formula.
std::optional<double> moves_per_given(const placement::PlacementSpec& decisions) {
  const std::uint32_t workers = decisions.workers;
  placement::Exchange* const* const exchange =
      decisions.exchange->function.target<placement::Exchange*>();
  if (exchange == nullptr) return std::nullopt;
  if (*exchange == placement::exchange_uniformly || *exchange == placement::exchange_by_importance)
    return workers - 1.0;
  if (*exchange == placement::exchange_in_pairs) return 2.0 * (workers / 2);
  return std::nullopt;
}

}  // namespace

std::uint64_t most_held(const placement::Partition& before, const placement::Partition& after) {
  std::vector<std::uint64_t> held(after.workers());
  for (std::uint64_t i = 0; i < after.examples(); ++i) {
    const WorkerId to = after.owner(ExampleId{i});
    ++held[index(to)];
    if (before.examples() == 0) continue;
    const WorkerId from = before.owner(ExampleId{i});
    if (from != to) ++held[index(from)];
  }
  return *std::max_element(held.begin(), held.end());
}

SimulatedMoves simulate_moves(const placement::PlacementSpec& decisions,
                              const MoveSimulationSpec& spec, const Progress& progress) {
  SimulatedPlacement simulated(decisions, spec.placement);
  const double scale =
      spec.placement.examples == 0
          ? 1.0
          : static_cast<double>(spec.examples) / static_cast<double>(spec.placement.examples);
  const auto& schedule = simulated.schedule();
  std::array<std::uint64_t, kKinds> carried_out{};
  SimulatedMoves result;
  SteadyState steady;
  for (const placement::ScheduleEvent& event : schedule) {
    EventMoves moves{.event = event, .importance_pass = simulated.has_importance_pass(event)};
    if (carried_out[position(event.kind)] < spec.most_events) {
      const placement::Partition before = simulated.placement().partition();
      const auto change = simulated.prepare_epoch(event.epoch);
      moves.moved = scale * static_cast<double>(change->moved);
      moves.flows = static_cast<double>(change->messages);
      moves.peak =
          scale * static_cast<double>(most_held(before, simulated.placement().partition()));
      steady.add(moves);
      ++carried_out[position(event.kind)];
      ++result.carried_out;
    } else {
      steady.fill(moves);
    }
    result.events.push_back(moves);
    if (progress) progress(result.events.size(), schedule.size());
  }
  return result;
}

std::optional<double> expected_moves(const placement::PlacementSpec& decisions,
                                     std::uint64_t examples) {
  if (!decisions.start.is_even) return std::nullopt;
  const std::uint32_t workers = decisions.workers;
  double moved = 0;
  double exchanges = 0;
  for (const placement::ScheduleEvent& event :
       placement::make_schedule(placement::schedule_spec(with_synthetic_importance(decisions)))) {
    if (event.kind == Kind::kHeuristic && decisions.heuristic.uses_importance) return std::nullopt;
    if (event.kind == Kind::kExchange) ++exchanges;
    if (event.kind != Kind::kExchange && event.epoch > 0) {
      moved += moves_of_random(examples, workers);
    }
  }
  if (exchanges == 0) return moved;
  const auto per_given = moves_per_given(decisions);
  if (!per_given) return std::nullopt;
  const auto part = static_cast<double>(smallest_part(examples, workers));
  const double given = std::floor(decisions.fraction * part * exchanges + 1e-9);
  return moved + *per_given * given;
}

}  // namespace impart::cost
