#include "impart/train/use/trained_evaluation.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/train/evaluation.h"
#include "impart/train/run_data.h"
#include "impart/train/run_machine.h"
#include "impart/train/use/loaded_model.h"

namespace impart::train {
namespace {

/// One worker that can read everything: how examples were dealt does not matter any more, and the
/// parts of a partitioned store are not to be touched.
config::RunConfig for_reading(config::RunConfig config, const trained::TrainedModel& model) {
  config.store = {};
  config.workers = {.count = 1};
  config.data.vocabulary_file = model.tokenizer;
  return config;
}

/// What evaluate_trained can make up for. Process 0 writes it down.
trained::ModelCard make_card(const trained::TrainedModel& model, const config::RunConfig& config,
                             const data::Dataset& data, const comm::Communicator& communicator) {
  trained::ModelCard card = trained::describe_model(config, data);
  card.epochs = config.epochs;
  const auto run = std::filesystem::path(model.config).parent_path();
  if (communicator.rank() == 0) trained::write_card((run / trained::kCardFile).string(), card);
  return card;
}

void check_classes(const trained::ModelCard& card, const data::ExampleSet& set) {
  if (set.classes == 0 && card.classes > 0) {
    throw ConfigError("the data has no classes, which are what the model learned");
  }
  if (set.classes > 0 && card.classes == 0) {
    throw ConfigError("the data has classes, and the model learned a language");
  }
  if (set.classes != card.classes) {
    throw ConfigError(
        fmt::format("the data has {} classes, and the model knows {}", set.classes, card.classes));
  }
  if (set.class_names.empty() || card.class_names.empty()) return;
  for (std::size_t i = 0; i < card.class_names.size(); ++i) {
    if (set.class_names[i] == card.class_names[i]) continue;
    throw ConfigError(fmt::format("class {} of the data is '{}', and that of the model '{}'", i,
                                  set.class_names[i], card.class_names[i]));
  }
}

void check_shapes(const trained::ModelCard& card, const trained::ModelCard& data) {
  if (card.images && data.images &&
      (card.images->channels != data.images->channels || card.images->size != data.images->size)) {
    throw ConfigError(fmt::format(
        "the data has images of {}x{} with {} channels, and the model is for {}x{} with {}",
        data.images->size, data.images->size, data.images->channels, card.images->size,
        card.images->size, card.images->channels));
  }
  if (!card.tokens || !data.tokens) return;
  if (data.tokens->vocabulary != card.tokens->vocabulary) {
    throw ConfigError(fmt::format("the data has a vocabulary of {} tokens, and the model of {}",
                                  data.tokens->vocabulary, card.tokens->vocabulary));
  }
  if (data.tokens->length > card.tokens->length) {
    throw ConfigError(fmt::format("data.block is {}, and the model sees {} tokens at most",
                                  data.tokens->length, card.tokens->length));
  }
}

/// Other data has another mean and deviation, but the model knows those that it learned with.
void use_normalisation(const trained::ModelCard& card, const std::string& name,
                       data::Dataset& data) {
  if (!card.images || (data.test.mean == card.images->mean && data.test.std == card.images->std)) {
    return;
  }
  if (data.images) {
    data::ImageData images = *data.images;
    images.test.mean = card.images->mean;
    images.test.std = card.images->std;
    data = data::dataset_of(std::move(images), name);
  }
  data.test.mean = card.images->mean;
  data.test.std = card.images->std;
}

}  // namespace

TrainedOutcome evaluate_trained(const trained::TrainedModel& model, config::RunConfig config,
                                comm::Communicator& communicator) {
  config = for_reading(std::move(config), model);
  feed::LoadedData loaded = load_run_data(config);
  const trained::ModelCard card = model.card.empty()
                                      ? make_card(model, config, loaded.dataset, communicator)
                                      : trained::read_card(model);
  check_classes(card, loaded.dataset.test);
  check_shapes(card, trained::describe_model(config, loaded.dataset));
  use_normalisation(card, config.data.name, loaded.dataset);
  const torch::Device device = choose_device(config, communicator);
  const auto network = load_model_of(model, card, device);
  RunData data = prepare_run_data(std::move(loaded), config, device, communicator);
  data.test_store->settle({{}, config.workers.count});
  data::TestOutcome test = evaluate(*network, *data.test,
                                    {.protocol = config.eval.protocol,
                                     .batch = config.eval.batch,
                                     .epoch = card.epochs > 0 ? card.epochs - 1 : 0,
                                     .mirror = config.eval.mirror},
                                    communicator);
  test.bytes = data.test_bytes;
  return {.task = data.task, .test = test};
}

}  // namespace impart::train
