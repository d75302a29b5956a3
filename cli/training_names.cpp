#include "cli/training_names.h"

#include <vector>

#include "impart/core/named_table.h"
#include "impart/data/augment.h"
#include "impart/data/datasets.h"
#include "impart/models/models.h"

namespace impart::cli {

KnownNames training_names() {
  static const std::vector<std::string_view> datasets = names_of(kDatasets);
  static const std::vector<std::string_view> augmentations = names_of(kAugmentations);
  static const std::vector<std::string_view> models = names_of(kModels);
  return {.datasets = datasets, .augmentations = augmentations, .models = models};
}

}  // namespace impart::cli
