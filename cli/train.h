#pragma once

#include <string>

#include "cli/terminal/terminal.h"
#include "impart/config/config.h"

namespace impart::cli {

/// A run that was asked for.
struct TrainRequest {
  config::RunConfig config;
  std::string source = {};  ///< which file it is from, where that is not plain
  bool overwrite = false;
  bool resume = false;
  Verbosity verbosity = Verbosity::kNormal;
  bool json = false;  ///< what happens is printed on stdout, as JSON
};

/// Trains, in this process or in all processes of an MPI job, and prints what came of it. Only
/// impart-engine can: in impart a ConfigError says why not.
void train_here(const TrainRequest& request);

}  // namespace impart::cli
