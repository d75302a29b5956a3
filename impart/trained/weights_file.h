#pragma once

#include <string>

#include "impart/trained/model_card.h"

namespace impart::trained {

/// The safetensors file that `model.from` means: the file itself, model.safetensors (or the only
/// one) of a folder, or that of the newest checkpoint of a run directory. DataError says what there
/// is instead, and what helps if that is a pickle.
std::string find_weights(const std::string& from);

/// DataError if a config.json of Hugging Face beside the weights tells of another architecture than
/// the card's: shapes alone do not show the number of heads.
void check_architecture(const std::string& weights, const ModelCard& card);

}  // namespace impart::trained
