#pragma once

#include <memory>

#include "impart/config/config.h"
#include "impart/models/classifier.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// ConfigError if the model that the config names is for another kind of data.
void check_model(const config::RunConfig& config, const feed::LoadedData& data);

/// The model of a run, initialised from its seed, on the device of its data. It fits,
/// as check_model has found.
std::shared_ptr<models::Classifier> make_run_model(const config::RunConfig& config,
                                                   const RunData& data);

}  // namespace impart::train
