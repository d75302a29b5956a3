#include "cli/training_names.h"

#include <vector>

#include "impart/core/named_table.h"
#include "impart/data/augment.h"
#include "impart/data/datasets.h"
#include "impart/data/text_datasets.h"
#include "impart/data/tokenizer.h"
#include "impart/models/models.h"
#include "impart/models/text_models.h"

namespace impart::cli {
namespace {

using Names = std::vector<std::string_view>;

Names joined(Names first, const Names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Names find_language_models() {
  Names names;
  for (const TextModelEntry& entry : kTextModels) {
    if (entry.task == TextTask::kLanguage) names.push_back(entry.name);
  }
  return names;
}

}  // namespace

KnownNames training_names() {
  static const std::vector<std::string_view> datasets =
      joined(names_of(kDatasets), names_of(kTextDatasets));
  static const std::vector<std::string_view> augmentations = names_of(kAugmentations);
  static const std::vector<std::string_view> models =
      joined(names_of(kModels), names_of(kTextModels));
  static const std::vector<std::string_view> tokenizers = names_of(kTokenizers);
  static const std::vector<std::string_view> language_models = find_language_models();
  return {.datasets = datasets,
          .augmentations = augmentations,
          .models = models,
          .tokenizers = tokenizers,
          .language_models = language_models};
}

}  // namespace impart::cli
