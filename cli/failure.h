#pragma once

#include <string>

namespace impart::cli {

constexpr int kUsageError = 2;

/// What an exception means for whoever started the command.
struct Failure {
  int code = 0;  ///< that the process ends with
  std::string message = {};
};

/// Of the exception that is being handled.
Failure current_failure();

}  // namespace impart::cli
