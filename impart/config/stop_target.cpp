#include "impart/config/stop_target.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include "impart/data/task.h"

namespace impart::config {
namespace {

constexpr const data::Task* kTasks[] = {&data::kClasses, &data::kLanguage};
constexpr std::string_view kSigns = "<>=";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The task that has the metric. ConfigError with a suggestion.
const data::Task& task_with(std::string_view metric) {
  std::vector<std::string_view> names;
  for (const data::Task* task : kTasks) {
    for (const data::Metric& known : task->metrics) {
      if (known.name == metric) return *task;
      names.push_back(known.name);
    }
  }
  throw_unknown_name("metric", metric, names);
}

double parse_value(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    throw ConfigError(fmt::format("'{}' is not a number", text));
  }
  return value;
}

}  // namespace

StopTarget parse_stop_target(std::string_view text) {
  const std::size_t sign_at = text.find_first_of(kSigns);
  if (sign_at == std::string_view::npos) {
    throw ConfigError(fmt::format(
        "'{}' compares nothing; write it as 'accuracy >= 82' or 'perplexity <= 30'", text));
  }
  const std::string_view metric = without_blanks(text.substr(0, sign_at));
  const data::Task& task = task_with(metric);
  const std::size_t sign_end = std::min(text.find_first_not_of(kSigns, sign_at), text.size());
  const StopTarget target{.metric = std::string(metric),
                          .at_least = task.larger_is_better,
                          .value = parse_value(without_blanks(text.substr(sign_end)))};
  const std::string_view sign = text.substr(sign_at, sign_end - sign_at);
  if (sign != (target.at_least ? ">=" : "<=")) {
    throw ConfigError(fmt::format("'{}': {} {} is better, so it is '{}'", text,
                                  target.at_least ? "more" : "less", metric, to_text(target)));
  }
  return target;
}

std::string to_text(const StopTarget& target) {
  return fmt::format("{} {} {}", target.metric, target.at_least ? ">=" : "<=", target.value);
}

}  // namespace impart::config
