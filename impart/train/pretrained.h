#pragma once

#include <functional>
#include <string>

#include "impart/models/classifier.h"
#include "impart/trained/model_card.h"

namespace impart::train {

// Weights that a run starts from (model.from): a safetensors file of torchvision or Hugging Face, a
// folder with one, or what impart trained itself.

/// Told what a user should know, if set.
using Note = std::function<void(const std::string&)>;

/// DataError or ConfigError if they do not fit the model of the card.
void check_pretrained(const std::string& from, const trained::ModelCard& card);

/// Loads them into an initialised model. Notes what was not taken: a head of another size.
void load_pretrained(const std::string& from, models::Classifier& model, const Note& note);

}  // namespace impart::train
