#include "impart/train/run_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/models/init.h"
#include "impart/models/models.h"
#include "impart/models/text_models.h"
#include "impart/train/token_feed.h"

namespace impart {
namespace {

const TextModelEntry* find_text_model(const std::string& name) {
  const auto found = std::find_if(std::begin(kTextModels), std::end(kTextModels),
                                  [&](const TextModelEntry& entry) { return entry.name == name; });
  return found == std::end(kTextModels) ? nullptr : found;
}

[[noreturn]] void refuse(const RunConfig& config, const char* model_for, const char* data_is) {
  throw ConfigError(fmt::format("model.name: {} is for {}, but data.name: {} is {}",
                                config.model.name, model_for, config.data.name, data_is));
}

const char* name_of(TextTask task) {
  return task == TextTask::kLanguage ? "language" : "texts with classes";
}

std::shared_ptr<Classifier> make_text_model(const RunConfig& config, const TokenSet& set) {
  const bool pads = !set.is_corpus();
  return find_entry(kTextModels, "model", config.model.name)
      .function({.vocabulary = std::int64_t{set.vocabulary} + (pads ? 1 : 0),
                 .length = set.length,
                 .classes = std::max<std::int64_t>(set.classes, 1),
                 .pad = pads ? padding_of(set) : 0,
                 .dropout = config.model.dropout});
}

std::shared_ptr<Classifier> make_image_model(const RunConfig& config, const RunData& data) {
  const bool cifar = config.model.stem == ModelConfig::Stem::kCifar;
  return find_entry(kModels, "model", config.model.name)
      .function({.classes = data.classes,
                 .channels = data.channels,
                 .image_size = data.image_size,
                 .stem = cifar ? Stem::kCifar : Stem::kImagenet});
}

bool holds_images(const torch::Tensor& inputs) {
  return inputs.scalar_type() == torch::kFloat32 && inputs.dim() == 4 &&
         inputs.size(2) == inputs.size(3);
}

}  // namespace

void check_model(const RunConfig& config, const LoadedData& data) {
  const TextModelEntry* entry = find_text_model(config.model.name);
  if (const auto* text = std::get_if<TextData>(&data)) {
    const TextTask task = text->train.is_corpus() ? TextTask::kLanguage : TextTask::kClassification;
    if (entry == nullptr) refuse(config, "images", name_of(task));
    if (entry->task == TextTask::kClassification && task == TextTask::kLanguage) {
      throw ConfigError(fmt::format(
          "model.name: {} needs texts with classes; data.label_column names the column of a table "
          "that has them",
          config.model.name));
    }
    if (entry->task != task) refuse(config, name_of(entry->task), name_of(task));
    return;
  }
  if (entry != nullptr) refuse(config, name_of(entry->task), "images");
  const auto* tensors = std::get_if<TensorData>(&data);
  if (tensors && !holds_images(tensors->train.inputs)) {
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

std::shared_ptr<Classifier> make_run_model(const RunConfig& config, const RunData& data) {
  const auto model =
      data.text ? make_text_model(config, data.text->train) : make_image_model(config, data);
  initialise_parameters(*model, config.seed);
  model->to(data.train->device());
  return model;
}

}  // namespace impart
