#include "cli/training_names.h"

#include <vector>

#include "impart/core/named_table.h"
#include "impart/data/datasets.h"
#include "impart/data/images/augment.h"
#include "impart/data/text/tokenizer.h"
#include "impart/models/images/models.h"
#include "impart/models/text/text_models.h"

namespace impart::cli {
namespace {

using Names = std::vector<std::string_view>;

Names joined(Names first, const Names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Names find_language_models() {
  Names names;
  for (const models::TextModelEntry& entry : models::kTextModels) {
    if (entry.task == models::TextTask::kLanguage) names.push_back(entry.name);
  }
  return names;
}

}  // namespace

config::KnownNames training_names() {
  static const std::vector<std::string_view> datasets = names_of(data::kDatasets);
  static const std::vector<std::string_view> augmentations = names_of(data::kAugmentations);
  static const std::vector<std::string_view> models =
      joined(names_of(models::kModels), names_of(models::kTextModels));
  static const std::vector<std::string_view> tokenizers = names_of(data::kTokenizers);
  static const std::vector<std::string_view> language_models = find_language_models();
  return {.datasets = datasets,
          .augmentations = augmentations,
          .models = models,
          .tokenizers = tokenizers,
          .language_models = language_models};
}

}  // namespace impart::cli
