#include "impart/study/array.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::study {
namespace {

constexpr const char* kTaskVariable = "SLURM_ARRAY_TASK_ID";

std::optional<std::size_t> whole_number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

ArrayTask task_of_environment(const char* value) {
  if (value == nullptr) {
    throw ConfigError(fmt::format(
        "--array: this is no task of a job array, {} is not set; submit it with sbatch "
        "--array=RANGE (--array --dry-run says which), or say which run: --array=3, or which of "
        "ten tasks: --array=3/10",
        kTaskVariable));
  }
  const auto number = whole_number_in(value);
  if (!number) throw ConfigError(fmt::format("{}={}: is no index of a run", kTaskVariable, value));
  return {.first = *number};
}

}  // namespace

bool ArrayTask::has(std::size_t run) const {
  return step == 0 ? run == first : run >= first && (run - first) % step == 0;
}

ArrayTask read_array_task(std::string_view text,
                          const std::function<const char*(const char* name)>& variable) {
  if (text.empty()) return task_of_environment(variable(kTaskVariable));
  const std::size_t slash = text.find('/');
  const auto first = whole_number_in(text.substr(0, slash));
  const auto step = slash == std::string_view::npos ? std::optional<std::size_t>(0)
                                                    : whole_number_in(text.substr(slash + 1));
  const bool is_one_of = slash == std::string_view::npos || (step && first < step);
  if (!first || !step || !is_one_of) {
    throw ConfigError(fmt::format(
        "--array={}: give the index of a run, 0 or more, or which of how many tasks, 0/10 to 9/10",
        text));
  }
  return {.first = *first, .step = *step};
}

void check_array_task(const ArrayTask& task, std::size_t runs) {
  if (task.first < runs) return;
  throw ConfigError(fmt::format("--array: there is no run {}: the study has {} runs, 0 to {}",
                                task.first, runs, runs - 1));
}

std::string index_ranges(std::span<const std::size_t> indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", indices[i]);
    if (last > i) text += fmt::format("-{}", indices[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace impart::study
