#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace impart::study {

/// Which runs of a study one task of a job array has, by their index in the study's order: one, or
/// every `step`-th from `first` on.
struct ArrayTask {
  std::size_t first = 0;
  std::size_t step = 0;  ///< 0: only `first`

  bool has(std::size_t run) const;
};

/// A task as it is asked for: "" is that of SLURM_ARRAY_TASK_ID, "3" has run 3, "3/10" is the
/// fourth of ten tasks, which has the runs 3, 13, 23, …. `variable` gives the value of an
/// environment variable, or null. ConfigError says what is right.
ArrayTask read_array_task(std::string_view text,
                          const std::function<const char*(const char* name)>& variable);

/// ConfigError if a study of so many runs has none for the task.
void check_array_task(const ArrayTask& task, std::size_t runs);

/// Ascending numbers as sbatch --array takes them: "0-3,5".
std::string index_ranges(std::span<const std::size_t> indices);

}  // namespace impart::study
