#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/sections.h"

namespace impart::report {

// Sections that show single examples of single runs.

inline constexpr std::size_t kMostPictures = 3;  ///< of one kind and group: a report is no atlas

/// A run that stands for its arm: the first.
struct Example {
  const GroupAnalysis* group;
  const ArmAnalysis* arm;
  const results::RunResult* run;

  std::string name() const {
    return run->seed ? fmt::format("{}, seed {}", arm->arm->name, *run->seed) : arm->arm->name;
  }
};

/// Calls `add(example)` for the first run of the leading arms until it was true so many times; what
/// is broken becomes a remark.
template <class Add>
void for_example_runs(const Analysis& analysis, std::vector<Block>& blocks, Add add) {
  for (const GroupAnalysis& group : analysis.groups) {
    std::size_t added = 0;
    for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
      if (added == kMostPictures) break;
      try {
        added += add(Example{&group, arm, &arm->arm->runs.front()});
      } catch (const std::exception& error) {
        blocks.emplace_back(Paragraph{fmt::format("Left out: {}", error.what()), true});
      }
    }
  }
}

/// What links pictures of examples with dots of a map: the data set.
inline std::string pictures_of(const GroupAnalysis& group) {
  return slug_of(group.group->name);
}

inline std::string file_name(const char* start, const Analysis& analysis, const Example& example) {
  return start + name_end(analysis, *example.group) + "-" + slug_of(example.arm->arm->name);
}

}  // namespace impart::report
