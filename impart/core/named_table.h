#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace impart {

/// One row of an extension point: what users write, one line of help, and the function. Tables with
/// more columns derive from it.
template <class Function>
struct Entry {
  std::string_view name;
  std::string_view summary;
  Function* function;
};

/// A row that owns its texts and holds any function, with captures or without: a program's own, or
/// a copy of a table's.
template <class Function>
struct AnyEntry {
  std::string name;
  std::string summary;
  std::function<Function> function;
};

template <class Row, std::size_t N>
consteval bool names_are_unique(const Row (&table)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = i + 1; j < N; ++j) {
      if (table[i].name == table[j].name) return false;
    }
  }
  return true;
}

/// The allowed name nearest to what was typed (insertions, deletions, replacements and swaps of
/// neighbours count 1), or "" if none is near enough to be meant.
std::string_view nearest_name(std::string_view typed, std::span<const std::string_view> allowed);

/// "unknown heuristic 'strips', did you mean 'stripes'?", or the list of what there is.
std::string describe_unknown_name(std::string_view kind, std::string_view typed,
                                  std::span<const std::string_view> allowed);

[[noreturn]] void throw_unknown_name(std::string_view kind, std::string_view typed,
                                     std::span<const std::string_view> allowed);

template <class Row, std::size_t N>
std::vector<std::string_view> names_of(const Row (&table)[N]) {
  std::vector<std::string_view> names;
  for (const Row& row : table) names.push_back(row.name);
  return names;
}

/// The row of that name; ConfigError with a suggestion if there is none. `kind` is the word for a
/// row in messages ("heuristic").
template <class Row, std::size_t N>
const Row& find_entry(const Row (&table)[N], std::string_view kind, std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) return row;
  }
  throw_unknown_name(kind, name, names_of(table));
}

/// The names of a table and of a program's own rows.
template <class Row, std::size_t N, class Own>
std::vector<std::string_view> names_of(const Row (&table)[N], const std::vector<Own>& own) {
  std::vector<std::string_view> names = names_of(table);
  for (const Own& row : own) names.push_back(row.name);
  return names;
}

/// The row of that name in either; ConfigError with a suggestion if there is none.
template <class Row, std::size_t N, class Own>
Own find_entry(const Row (&table)[N], const std::vector<Own>& own, std::string_view kind,
               std::string_view name) {
  for (const Own& row : own) {
    if (row.name == name) return row;
  }
  for (const Row& row : table) {
    if (row.name == name) return row;
  }
  throw_unknown_name(kind, name, names_of(table, own));
}

}  // namespace impart
