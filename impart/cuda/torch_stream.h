#pragma once

#include "impart/cuda/device.h"

namespace impart::cuda {

/// The stream of the current device that torch puts its work on at the moment.
Stream current_stream();

}  // namespace impart::cuda
