#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "impart/config/config.h"
#include "impart/data/dataset.h"
#include "impart/data/task.h"

namespace impart::trained {

/// How a picture becomes what a model of images is given: its shorter side becomes `resize` pixels,
/// size × size are cut out of the centre, scaled to 0..1, less `mean`, divided by `std`.
struct ImagePreparation {
  std::uint32_t channels = 3;
  std::uint32_t size = 0, resize = 0;
  std::vector<float> mean = {}, std = {};  ///< per channel
  bool operator==(const ImagePreparation&) const = default;
};

/// What a model of text is given.
struct TokenPreparation {
  std::uint32_t vocabulary = 0;  ///< token ids are below it; padding, where there is any, is it
  std::uint32_t length = 0;      ///< most tokens of an example
  bool operator==(const TokenPreparation&) const = default;
};

/// All that is needed to make a model and to use it, besides its weights and its tokenizer: the
/// file model.json beside them.
struct ModelCard {
  std::string model = {};  ///< row of config::kModelNames, or what a program calls its own
  bool is_own = false;     ///< a program's: impart cannot make it
  config::ModelConfig::Stem stem = config::ModelConfig::Stem::kImagenet;
  config::Norm norm = config::Norm::kBatch;
  double dropout = 0;
  data::Task task = data::kClasses;
  std::uint32_t classes = 0;                    ///< 0: language
  std::vector<std::string> class_names = {};    ///< `classes` names, or empty
  std::optional<ImagePreparation> images = {};  ///< these, or tokens, or neither
  std::optional<TokenPreparation> tokens = {};
  std::uint32_t epochs = 0;  ///< that it was trained for
  bool operator==(const ModelCard&) const = default;
};

/// Of the model that a run trains on this data.
ModelCard describe_model(const config::RunConfig& config, const data::Dataset& data);

/// The card as JSON.
nlohmann::ordered_json describe(const ModelCard& card);

/// Writes the file complete or not at all. IoError.
void write_card(const std::string& path, const ModelCard& card);

/// DataError if it is not what write_card writes.
ModelCard read_card(const std::string& path);

/// "cat", or "class 3" if the classes have no names.
std::string class_text(const ModelCard& card, std::size_t number);

}  // namespace impart::trained
