#pragma once

#include <string>
#include <string_view>

namespace impart::config {

/// A result that ends a run: "accuracy >= 82", "perplexity <= 30".
struct StopTarget {
  std::string metric;    ///< of a task (data/task.h)
  bool at_least = true;  ///< more is better; else at most
  double value = 0;
  bool operator==(const StopTarget&) const = default;

  bool is_reached_by(double result) const { return at_least ? result >= value : result <= value; }
};

/// ConfigError says what was found and what would be right.
StopTarget parse_stop_target(std::string_view text);

/// parse_stop_target(to_text(target)) == target.
std::string to_text(const StopTarget& target);

}  // namespace impart::config
