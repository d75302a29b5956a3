#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace impart::data {

/// What an example is to a model.
enum class Input {
  kImages,   ///< pixels
  kTokens,   ///< token ids
  kTensors,  ///< numbers of a program's own
};

/// How a model did on the test examples.
struct TestOutcome {
  std::uint64_t predictions = 0;  ///< examples, or tokens with a target
  double loss = 0;                ///< mean over the predictions, in nats
  double accuracy = 0;            ///< percent of them
  std::uint64_t bytes = 0;  ///< of text that the predictions stand for; 0: unknown, or no text
};

/// A number that an outcome comes to.
struct Metric {
  std::string_view name;  ///< in results: best_NAME, final_NAME, test_NAME
  /// Nothing if it is not known.
  std::optional<double> (*measure)(const TestOutcome& outcome) = nullptr;
  int digits = 2;              ///< that are shown behind the point
  std::string_view unit = {};  ///< " %"
};

/// What is learned of an example, and what a run is judged by.
struct Task {
  std::string_view name;    ///< "classes", "language"
  std::string_view metric;  ///< that decides which epoch is best: the first of `metrics`
  bool larger_is_better = true;
  std::span<const Metric> metrics = {};
  /// An evaluation in a line of text: {part} stands for what was evaluated on, {loss} and {score}
  /// for its numbers.
  std::string_view words = "{part} {score}";

  bool operator==(const Task& other) const { return name == other.name; }
};

inline constexpr Metric kAccuracy = {
    "accuracy", [](const TestOutcome& outcome) { return std::optional(outcome.accuracy); }, 2,
    " %"};
std::optional<double> measure_perplexity(const TestOutcome& outcome);
std::optional<double> measure_bits_per_byte(const TestOutcome& outcome);

inline constexpr Metric kClassMetrics[] = {kAccuracy};
inline constexpr Metric kLanguageMetrics[] = {
    {"perplexity", measure_perplexity, 3},
    {"bits_per_byte", measure_bits_per_byte, 3},
};

/// Every example has one class.
inline constexpr Task kClasses = {"classes", "accuracy", true, kClassMetrics, "{part} {score}"};
/// Every token of an example is to be told from those before it.
inline constexpr Task kLanguage = {"language", "perplexity", false, kLanguageMetrics,
                                   "{part} loss {loss:.4f}  perplexity {score}"};

/// Of an outcome, by the metric that decides.
double score_of(const Task& task, const TestOutcome& outcome);

/// Whether a score is better than the best so far. Any is better than none or NaN: a run that
/// starts with NaN may still find its way.
bool is_better(const Task& task, double score, std::optional<double> best);

/// "87.20 %", "3.142"
std::string score_text(const Task& task, double score);

/// "test 87.20 %", "test loss 1.1447  perplexity 3.142"; `part` may be "validation".
std::string test_text(const Task& task, double loss, double score, std::string_view part = "test");

}  // namespace impart::data
