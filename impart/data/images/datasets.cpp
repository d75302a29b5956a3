#include "impart/data/images/datasets.h"

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {

ImageData load_data(const DataSpec& spec) {
  const DatasetEntry& entry = find_entry(kDatasets, "data set", spec.name);
  if (entry.function == nullptr) {
    throw ConfigError(
        fmt::format("data set '{}' cannot be held in memory as pixels, only opened", spec.name));
  }
  return entry.function(spec);
}

ExampleData open_data(const DataSpec& spec) {
  return find_entry(kDatasets, "data set", spec.name).open(spec);
}

}  // namespace impart::data
