#include "impart/placement/starts.h"

#include <fmt/format.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"

namespace impart::placement {

void check_start(const StartSpec& spec) {
  check_worker_count(spec.workers);
  if (!spec.labels.empty() && spec.labels.size() != spec.examples) {
    throw ConfigError(
        fmt::format("there are {} labels for {} examples", spec.labels.size(), spec.examples));
  }
}

void check_labelled_start(const StartSpec& spec, std::string_view name) {
  check_start(spec);
  if (spec.labels.size() != spec.examples) {
    throw ConfigError(fmt::format("start {} needs the label of every example", name));
  }
}

Partition read_start(const std::string& path, std::uint64_t examples, std::uint32_t workers) {
  Partition start = read_partition(path, workers);
  if (start.examples() > examples) {
    throw DataError(fmt::format("{}: id {}, but only {} examples are trained on",
                                place_of_example(path, examples), examples, examples));
  }
  if (start.examples() < examples) {
    const std::uint64_t missing = start.examples();
    throw DataError(
        fmt::format("{}: ids end here, but {} examples are trained on: id {} is missing",
                    missing == 0 ? path : place_of_example(path, missing - 1), examples, missing));
  }
  return start;
}

}  // namespace impart::placement
