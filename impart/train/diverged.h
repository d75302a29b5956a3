#pragma once

#include "impart/core/error.h"

namespace impart::train {

/// The weights of a worker are no longer numbers, and the run is to end for that
/// (train.stop_on_nan). Every process of the run gets it at the same step.
class Diverged : public Error {
 public:
  using Error::Error;
};

}  // namespace impart::train
