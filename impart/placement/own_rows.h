#pragma once

#include <string_view>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"

namespace impart::placement {

/// Rows that a program adds to impart's tables for its own runs; the config names them like others.
///
///     Partition deal_my_way(const Scores& importance, const PartitionSpec& spec);
///     const OwnRows own{.heuristics = {{{"my-way", "as I like it", deal_my_way}}}};
///
/// The texts of a row must live as long as the rows. All processes of a job need the same rows, and
/// so does a run that is resumed.
struct OwnRows {
  std::vector<HeuristicEntry> heuristics = {};
  std::vector<ExchangeEntry> exchanges = {};
  std::vector<importance::NotionEntry> notions = {};
};

/// ConfigError if a row has no name or no function, or the name of another row.
void check_rows(const OwnRows& own);

}  // namespace impart::placement
