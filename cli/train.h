#pragma once

#include <string>

#include "impart/config/config.h"

namespace impart::cli {

/// A run that was asked for.
struct TrainRequest {
  config::RunConfig config;
  std::string source = {};  ///< where it is from, for people; "" without a file
  bool overwrite = false;
  bool resume = false;
};

/// Trains, in this process or in all processes of an MPI job, and prints what came of it. Only
/// impart-engine can: in impart a ConfigError says why not.
void train_here(const TrainRequest& request);

}  // namespace impart::cli
