#pragma once

#include <string_view>

namespace impart::data {

/// What an example is to a model.
enum class Input {
  kImages,  ///< pixels
  kTokens,  ///< token ids
};

/// What is learned of an example, and what a run is judged by.
struct Task {
  std::string_view name;    ///< "classes", "language"
  std::string_view metric;  ///< of test examples, in results: best_METRIC, final_METRIC, test_METRIC
  bool larger_is_better = true;
  bool operator==(const Task&) const = default;
};

/// Every example has one class.
inline constexpr Task kClasses = {"classes", "accuracy", true};
/// Every token of an example is to be told from those before it.
inline constexpr Task kLanguage = {"language", "perplexity", false};

}  // namespace impart::data
