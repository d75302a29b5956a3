#pragma once

#include <string>
#include <vector>

#include "cli/terminal/terminal.h"
#include "impart/config/config.h"

namespace impart::train {
struct RunOutcome;
}  // namespace impart::train

namespace impart::cli {

/// A run that was asked for.
struct TrainRequest {
  config::RunConfig config;
  std::string source = {};  ///< which file it is from, where that is not plain
  bool overwrite = false;
  bool resume = false;
  Verbosity verbosity = Verbosity::kNormal;
  bool json = false;                     ///< what happens is printed on stdout, as JSON
  std::vector<std::string> unused = {};  ///< sentences about settings without effect
};

/// To go on with the run in a folder, or to start the one whose config.yaml is there. DataError if
/// there is none, ConfigError if the overrides make another run of it.
TrainRequest resume_request(const std::string& folder, const std::vector<std::string>& overrides);

/// What is printed after a run, and what its process ends with.
std::vector<std::string> summary_lines(const TrainRequest& request,
                                       const train::RunOutcome& outcome);
int exit_code(const train::RunOutcome& outcome);

/// Trains, in this process or in all processes of an MPI job, and prints what came of it. Only
/// impart-engine can: in impart a ConfigError says why not.
void train_here(const TrainRequest& request);

}  // namespace impart::cli
