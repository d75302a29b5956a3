#pragma once

#include <string>

#include "impart/core/error.h"

namespace impart::testing {

/// What the ConfigError says that `call` throws; "" if it throws none.
template <class Call>
std::string config_error(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace impart::testing
