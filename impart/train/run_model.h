#pragma once

#include <memory>

#include "impart/models/classifier.h"
#include "impart/train/config.h"
#include "impart/train/run_data.h"

namespace impart {

/// The model of a run, initialised from its seed, on the device of its data. ConfigError if the
/// model is for another kind of data.
std::shared_ptr<Classifier> make_run_model(const RunConfig& config, const RunData& data);

}  // namespace impart
