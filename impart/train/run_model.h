#pragma once

#include <memory>

#include "impart/config/config.h"
#include "impart/models/classifier.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// The model of a run, initialised from its seed, on the device of its data, which it fits
/// (config/rules.h).
std::shared_ptr<models::Classifier> make_run_model(const config::RunConfig& config,
                                                   const RunData& data);

}  // namespace impart::train
