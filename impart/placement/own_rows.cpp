#include "impart/placement/own_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

template <class Row, std::size_t N, class Own>
void check_against(const Row (&table)[N], const std::vector<Own>& own, std::string_view kind) {
  const std::vector<std::string_view> names = names_of(table, own);
  for (const Own& row : own) {
    if (row.name.empty())
      throw ConfigError(
          fmt::format("{} {} of your own has no name", kind == "exchange" ? "an" : "a", kind));
    if (row.function == nullptr) {
      throw ConfigError(fmt::format("{} '{}' of your own has no function", kind, row.name));
    }
    if (std::count(names.begin(), names.end(), row.name) > 1) {
      throw ConfigError(
          fmt::format("{} '{}' of your own: there is one of that name already", kind, row.name));
    }
  }
}

}  // namespace

void check_rows(const OwnRows& own) {
  check_against(kHeuristics, own.heuristics, "heuristic");
  check_against(kExchanges, own.exchanges, "exchange");
  check_against(importance::kNotions, own.notions, "notion");
  check_against(kSelections, own.selections, "selection");
  check_against(kStarts, own.starts, "start");
}

}  // namespace impart::placement
