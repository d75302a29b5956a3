#pragma once

#include <string>

#include "impart/config/config.h"
#include "impart/data/text/tokenizer.h"
#include "impart/trained/model_card.h"

namespace impart::trained {

// The files that a model is kept in, in a checkpoint and in what `impart export` makes.
inline constexpr const char* kCardFile = "model.json";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kTokenizerFile = "tokenizer.txt";

/// Where a trained model lies.
struct TrainedModel {
  std::string folder;          ///< as it was asked for: a run directory, or an export
  std::string files;           ///< folder of the model's files
  std::string config;          ///< path of the run's config.yaml
  std::string card;            ///< path of model.json; "" in runs that have none
  std::string tokenizer = {};  ///< path of tokenizer.txt; "" if there is none

  std::string weights() const { return files + "/" + kWeightsFile; }
};

/// The model in a run directory (that of its newest whole checkpoint), in one of its checkpoints,
/// or in a folder that `impart export` made. DataError says what is missing.
TrainedModel find_trained_model(const std::string& folder);

/// DataError with a word on what to do if the run is from a version that wrote no model.json.
ModelCard read_card(const TrainedModel& model);

/// The configuration of the run that it comes from, with changes ("data.root=…"). ConfigError if
/// one is not for a trained model: the model itself and its training cannot be changed any more.
config::RunConfig read_config(const TrainedModel& model, const std::vector<std::string>& overrides);

/// Null if there is none: it was trained on token files.
data::TokenizerPtr read_tokenizer(const TrainedModel& model);

}  // namespace impart::trained
