#include "impart/train/run_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/text/text_models.h"

namespace impart::train {
namespace {

/// Texts with a class differ in length, and are filled up with one token more than there are.
std::shared_ptr<models::Classifier> make_text_model(const trained::ModelCard& card) {
  const bool pads = card.task == data::kClasses;
  const std::int64_t tokens = card.tokens->vocabulary;
  return find_entry(models::kTextModels, "model", card.model)
      .function({.vocabulary = tokens + (pads ? 1 : 0),
                 .length = card.tokens->length,
                 .classes = std::max<std::int64_t>(card.classes, 1),
                 .pad = pads ? tokens : 0,
                 .dropout = card.dropout});
}

std::shared_ptr<models::Classifier> make_image_model(const trained::ModelCard& card) {
  const bool cifar = card.stem == config::ModelConfig::Stem::kCifar;
  return find_entry(models::kModels, "model", card.model)
      .function({.classes = card.classes,
                 .channels = card.images->channels,
                 .image_size = card.images->size,
                 .stem = cifar ? models::Stem::kCifar : models::Stem::kImagenet,
                 .norm = card.norm});
}

}  // namespace

std::shared_ptr<models::Classifier> make_model(const trained::ModelCard& card) {
  if (card.is_own || (!card.tokens && !card.images)) {
    throw ConfigError(
        fmt::format("the model '{}' is a program's own; load its model.safetensors in that program",
                    card.model));
  }
  return card.tokens ? make_text_model(card) : make_image_model(card);
}

std::shared_ptr<models::Classifier> make_initial_model(const trained::ModelCard& card,
                                                       std::uint64_t seed, torch::Device device) {
  auto model = make_model(card);
  models::initialise_parameters(*model, seed);
  model->to(device);
  return model;
}

}  // namespace impart::train
