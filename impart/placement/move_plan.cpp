#include "impart/placement/move_plan.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

/// Stable counting sort by a worker of each move.
std::vector<Move> sort_by(const std::vector<Move>& moves, std::uint32_t workers,
                          WorkerId Move::*worker) {
  std::vector<std::uint64_t> next(std::size_t{workers} + 1);
  for (const Move& move : moves) ++next[index(move.*worker) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Move> sorted(moves.size());
  for (const Move& move : moves) sorted[next[index(move.*worker)]++] = move;
  return sorted;
}

}  // namespace

MovePlan diff(const Partition& before, const Partition& after) {
  if (before.examples() != after.examples()) {
    throw ConfigError(fmt::format("cannot compare a partition of {} examples with one of {}",
                                  before.examples(), after.examples()));
  }
  std::vector<Move> moves;
  for (std::uint64_t i = 0; i < before.examples(); ++i) {
    const ExampleId id{i};
    if (before.owner(id) != after.owner(id))
      moves.push_back({id, before.owner(id), after.owner(id)});
  }
  moves = sort_by(moves, after.workers(), &Move::to);
  return {sort_by(moves, before.workers(), &Move::from)};
}

std::uint64_t MovePlan::messages() const {
  std::uint64_t messages = moves.empty() ? 0 : 1;
  for (std::size_t i = 1; i < moves.size(); ++i) {
    messages += moves[i].from != moves[i - 1].from || moves[i].to != moves[i - 1].to;
  }
  return messages;
}

}  // namespace impart::placement
