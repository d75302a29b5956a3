#pragma once

#include <cstdint>
#include <string>

namespace impart::cli {

/// impart partition --start: who owns what before anything is known.
struct StartOptions {
  std::string name;
  std::string labels;  ///< a file; "": there are none
  std::string file;    ///< of the start `file`
  std::uint64_t examples = 0;
  std::uint32_t workers = 0;
  std::uint64_t seed = 0;
  double alpha = 0.5;
  std::string sizes = "free";
  std::string output;
  bool json = false;
};

/// Deals, writes the owners and says what came of it.
void run_start(const StartOptions& options);

}  // namespace impart::cli
