#pragma once

#include <cstdint>
#include <memory>

#include "impart/models/classifier.h"
#include "impart/trained/model_card.h"

namespace impart::train {

/// The model that a card describes, on the CPU, its parameters not set yet. ConfigError if a
/// program brought it along: impart cannot make that.
std::shared_ptr<models::Classifier> make_model(const trained::ModelCard& card);

/// The same, initialised from a seed, on a device.
std::shared_ptr<models::Classifier> make_initial_model(const trained::ModelCard& card,
                                                       std::uint64_t seed, torch::Device device);

}  // namespace impart::train
