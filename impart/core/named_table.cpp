#include "impart/core/named_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"

namespace impart {
namespace {

/// Optimal string alignment distance: edits where a swap of two neighbours is one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_back, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
    two_back = last;
    last = row;
  }
  return last[b.size()];
}

/// "gpu" is not a slip of who means "cpu", as "cup" is.
bool is_another_word(std::string_view typed, std::string_view name) {
  constexpr std::size_t kShort = 3;
  return typed.size() <= kShort && typed.size() == name.size() &&
         !std::is_permutation(typed.begin(), typed.end(), name.begin());
}

}  // namespace

std::string_view nearest_name(std::string_view typed, std::span<const std::string_view> allowed) {
  std::string_view nearest;
  const std::size_t most = typed.size() < 5 ? 1 : std::max<std::size_t>(2, typed.size() / 3);
  std::size_t smallest = most + 1;
  for (const std::string_view name : allowed) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance < smallest && distance < name.size() && !is_another_word(typed, name)) {
      smallest = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string describe_unknown_name(std::string_view kind, std::string_view typed,
                                  std::span<const std::string_view> allowed) {
  const std::string_view meant = nearest_name(typed, allowed);
  if (!meant.empty()) {
    return fmt::format("unknown {} '{}', did you mean '{}'?", kind, typed, meant);
  }
  return fmt::format("unknown {} '{}'; there are: {}", kind, typed, fmt::join(allowed, ", "));
}

void throw_unknown_name(std::string_view kind, std::string_view typed,
                        std::span<const std::string_view> allowed) {
  throw ConfigError(describe_unknown_name(kind, typed, allowed));
}

}  // namespace impart
