#include "cli/list.h"
#include "impart/data/augment.h"
#include "impart/data/datasets.h"
#include "impart/models/models.h"

namespace impart::cli {

void list_datasets() {
  print_table(kDatasets);
}

void list_augmentations() {
  print_table(kAugmentations);
}

void list_models() {
  print_table(kModels);
}

}  // namespace impart::cli
