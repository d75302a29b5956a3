// For the program without the training engine.

#include "cli/list.h"

namespace impart::cli {

void list_datasets() {}
void list_augmentations() {}
void list_models() {}
void list_tokenizers() {}

}  // namespace impart::cli
