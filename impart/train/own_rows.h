#pragma once

#include <string_view>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/importance/notions.h"
#include "impart/partition/exchanges.h"
#include "impart/partition/heuristics.h"

namespace impart {

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
  std::vector<NotionEntry> notions = {};
};

/// ConfigError if a row has no name or no function, or the name of another row.
void check_rows(const OwnRows& own);

/// The names of a table and of a program's own rows.
template <class Row, std::size_t N>
std::vector<std::string_view> names_of(const Row (&table)[N], const std::vector<Row>& own) {
  std::vector<std::string_view> names = names_of(table);
  for (const Row& row : own) names.push_back(row.name);
  return names;
}

/// The row of that name in either; ConfigError with a suggestion if there is none. What is found
/// lives as long as `own`.
template <class Row, std::size_t N>
const Row& find_entry(const Row (&table)[N], const std::vector<Row>& own, std::string_view kind,
                      std::string_view name) {
  for (const Row& row : own) {
    if (row.name == name) return row;
  }
  for (const Row& row : table) {
    if (row.name == name) return row;
  }
  throw_unknown_name(kind, name, names_of(table, own));
}

}  // namespace impart
