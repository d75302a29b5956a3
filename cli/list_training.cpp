#include "cli/list.h"
#include "impart/data/datasets.h"
#include "impart/data/images/augment.h"
#include "impart/data/text/tokenizer.h"
#include "impart/models/images/models.h"
#include "impart/models/text/text_models.h"

namespace impart::cli {

void list_datasets() {
  print_table(data::kDatasets);
}

void list_augmentations() {
  print_table(data::kAugmentations);
}

void list_tokenizers() {
  print_table(data::kTokenizers);
}

void list_models() {
  print_table(models::kModels);
  print_table(models::kTextModels);
}

}  // namespace impart::cli
