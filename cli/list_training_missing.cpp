// Chosen by CMake where the training engine is not built.

#include "cli/list.h"

namespace impart::cli {

void list_datasets() {}
void list_augmentations() {}
void list_models() {}

}  // namespace impart::cli
