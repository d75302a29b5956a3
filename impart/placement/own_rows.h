#pragma once

#include <vector>

#include "impart/core/named_table.h"
#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"

namespace impart::placement {

/// Rows that a program adds to impart's tables for its own runs; the config names them like others.
///
///     Partition deal_my_way(const Scores& importance, const PartitionSpec& spec);
///     const OwnRows own{.heuristics = {{{"my-way", "as I like it", deal_my_way}}}};
///
/// The functions may be lambdas with captures, as long as equal inputs have equal answers. All
/// processes of a job need the same rows, and so does a run that is resumed.
struct OwnRows {
  std::vector<AnyHeuristic> heuristics = {};
  std::vector<AnyExchange> exchanges = {};
  std::vector<importance::AnyNotion> notions = {};
  std::vector<AnySelection> selections = {};
  std::vector<AnyStart> starts = {};
};

/// ConfigError if a row has no name or no function, or the name of another row.
void check_rows(const OwnRows& own);

}  // namespace impart::placement
