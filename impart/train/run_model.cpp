#include "impart/train/run_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/feed/token_feed.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/text/text_models.h"

namespace impart::train {
namespace {

const models::TextModelEntry* find_text_model(const std::string& name) {
  const auto found =
      std::find_if(std::begin(models::kTextModels), std::end(models::kTextModels),
                   [&](const models::TextModelEntry& entry) { return entry.name == name; });
  return found == std::end(models::kTextModels) ? nullptr : found;
}

[[noreturn]] void refuse(const config::RunConfig& config, const char* model_for,
                         const char* data_is) {
  throw ConfigError(fmt::format("model.name: {} is for {}, but data.name: {} is {}",
                                config.model.name, model_for, config.data.name, data_is));
}

const char* name_of(models::TextTask task) {
  return task == models::TextTask::kLanguage ? "language" : "texts with classes";
}

std::shared_ptr<models::Classifier> make_text_model(const config::RunConfig& config,
                                                    const data::TokenSet& set) {
  const bool pads = !set.is_corpus();
  return find_entry(models::kTextModels, "model", config.model.name)
      .function({.vocabulary = std::int64_t{set.vocabulary} + (pads ? 1 : 0),
                 .length = set.length,
                 .classes = std::max<std::int64_t>(set.classes, 1),
                 .pad = pads ? feed::padding_of(set) : 0,
                 .dropout = config.model.dropout});
}

std::shared_ptr<models::Classifier> make_image_model(const config::RunConfig& config,
                                                     const RunData& data) {
  const bool cifar = config.model.stem == config::ModelConfig::Stem::kCifar;
  return find_entry(models::kModels, "model", config.model.name)
      .function({.classes = data.classes,
                 .channels = data.channels,
                 .image_size = data.image_size,
                 .stem = cifar ? models::Stem::kCifar : models::Stem::kImagenet});
}

bool holds_images(const torch::Tensor& inputs) {
  return inputs.scalar_type() == torch::kFloat32 && inputs.dim() == 4 &&
         inputs.size(2) == inputs.size(3);
}

}  // namespace

void check_model(const config::RunConfig& config, const feed::LoadedData& data) {
  const models::TextModelEntry* entry = find_text_model(config.model.name);
  const data::Dataset& set = data.dataset;
  if (set.input == data::Input::kTokens) {
    const models::TextTask task = set.task == data::kLanguage ? models::TextTask::kLanguage
                                                              : models::TextTask::kClassification;
    if (entry == nullptr) refuse(config, "images", name_of(task));
    if (entry->task == models::TextTask::kClassification && task == models::TextTask::kLanguage) {
      throw ConfigError(fmt::format(
          "model.name: {} needs texts with classes; data.label_column names the column of a table "
          "that has them",
          config.model.name));
    }
    if (entry->task != task) refuse(config, name_of(entry->task), name_of(task));
    return;
  }
  if (entry != nullptr) refuse(config, name_of(entry->task), "images");
  if (data.tensors && !holds_images(data.tensors->train.inputs)) {
    throw ConfigError(fmt::format(
        "model.name: {} is for images, square float tensors [N, channels, size, size]; other "
        "tensors need a model of your own",
        config.model.name));
  }
  if (config.model.dropout > 0) {
    throw ConfigError(
        fmt::format("model.dropout: {} has none; only text models do", config.model.name));
  }
}

std::shared_ptr<models::Classifier> make_run_model(const config::RunConfig& config,
                                                   const RunData& data) {
  const auto model =
      data.text ? make_text_model(config, data.text->train) : make_image_model(config, data);
  models::initialise_parameters(*model, config.seed);
  model->to(data.train->device());
  return model;
}

}  // namespace impart::train
