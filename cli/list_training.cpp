#include "cli/list.h"
#include "impart/data/augment.h"
#include "impart/data/datasets.h"
#include "impart/data/text_datasets.h"
#include "impart/data/tokenizer.h"
#include "impart/models/models.h"
#include "impart/models/text_models.h"

namespace impart::cli {

void list_datasets() {
  print_table(kDatasets);
  print_table(kTextDatasets);
}

void list_augmentations() {
  print_table(kAugmentations);
}

void list_tokenizers() {
  print_table(kTokenizers);
}

void list_models() {
  print_table(kModels);
  print_table(kTextModels);
}

}  // namespace impart::cli
