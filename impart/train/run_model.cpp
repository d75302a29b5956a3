#include "impart/train/run_model.h"

#include <algorithm>

#include "impart/feed/token_feed.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/text/text_models.h"

namespace impart::train {
namespace {

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

}  // namespace

std::shared_ptr<models::Classifier> make_run_model(const config::RunConfig& config,
                                                   const RunData& data) {
  const auto model =
      data.text ? make_text_model(config, data.text->train) : make_image_model(config, data);
  models::initialise_parameters(*model, config.seed);
  model->to(data.train->device());
  return model;
}

}  // namespace impart::train
