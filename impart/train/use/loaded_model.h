#pragma once

#include <memory>

#include <torch/types.h>

#include "impart/models/classifier.h"
#include "impart/trained/trained_model.h"

namespace impart::train {

/// A trained model with its weights, in evaluation mode. DataError if the weights do not fit the
/// card; ConfigError if it is a program's own.
std::shared_ptr<models::Classifier> load_model_of(const trained::TrainedModel& model,
                                                  const trained::ModelCard& card,
                                                  torch::Device device);

}  // namespace impart::train
