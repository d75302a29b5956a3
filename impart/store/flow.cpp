#include "impart/store/flow.h"

#include <tuple>

#include "impart/core/error.h"

namespace impart::store {

std::vector<Flow> cut_into_flows(const placement::MovePlan& plan) {
  const std::span<const placement::Move> moves = plan.moves;
  const auto key = [](const placement::Move& move) {
    return std::tuple(index(move.from), index(move.to), index(move.example));
  };
  std::vector<Flow> flows;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= moves.size(); ++i) {
    if (i < moves.size() && key(moves[i - 1]) >= key(moves[i])) {
      throw Error("a move plan is not sorted by (from, to, example)");
    }
    const bool same =
        i < moves.size() && moves[i].from == moves[first].from && moves[i].to == moves[first].to;
    if (same) continue;
    flows.push_back({moves[first].from, moves[first].to, moves.subspan(first, i - first)});
    first = i;
  }
  return flows;
}

std::uint64_t bytes_of(const Flow& flow, const PayloadSizes& sizes) {
  std::uint64_t bytes = flow.moves.size() * kFrameBytes;
  for (const placement::Move& move : flow.moves) bytes += sizes(move.example);
  return bytes;
}

}  // namespace impart::store
