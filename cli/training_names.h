#pragma once

#include "impart/study/schema.h"

namespace impart::cli {

/// The names of data sets, augmentations and models, for the configuration's schema.
KnownNames training_names();

}  // namespace impart::cli
