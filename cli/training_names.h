#pragma once

#include "impart/config/schema.h"

namespace impart::cli {

/// The names of data sets, augmentations and models, for the configuration's schema.
config::KnownNames training_names();

}  // namespace impart::cli
