// For the program without the training engine: reached only if there is no impart-engine beside it.

#include "cli/commands.h"
#include "impart/core/error.h"

namespace impart::cli {

void add_data_command(CLI::App& app) {
  auto* command = app.add_subcommand("data", "Download data sets");
  command->allow_extras();
  command->callback([] {
    throw ConfigError(
        "data sets belong to the training engine: this impart was built with IMPART_TRAIN=OFF, or "
        "impart-engine is not beside it");
  });
}

}  // namespace impart::cli
