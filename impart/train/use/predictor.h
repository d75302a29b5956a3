#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/types.h>

#include "impart/data/payloads/example_set.h"
#include "impart/models/classifier.h"
#include "impart/trained/trained_model.h"

namespace impart::train {

/// A class and how probable a model holds it.
struct ClassChance {
  std::uint32_t number = 0;
  double probability = 0;
};

/// Tells the classes of single pictures or texts. Pictures are prepared as the model's test images
/// were; texts are cut where the model sees no more.
class Predictor {
 public:
  /// ConfigError if the model does not tell classes; DataError if something of it is missing.
  Predictor(const trained::TrainedModel& model, torch::Device device);

  const trained::ModelCard& card() const { return card_; }

  /// All classes, the most probable first, of a JPEG or PNG file, or of a file of text, whose last
  /// line end does not count. DataError names the file.
  std::vector<ClassChance> predict_file(const std::string& path) const;

 private:
  torch::Tensor picture_of(const std::string& path) const;
  torch::Tensor tokens_of(const std::string& path) const;

  trained::ModelCard card_;
  torch::Device device_;
  std::shared_ptr<models::Classifier> network_;
  std::shared_ptr<const data::PayloadDecoder> decoder_;  ///< of pictures
  data::TokenizerPtr tokenizer_;                         ///< of texts
};

}  // namespace impart::train
