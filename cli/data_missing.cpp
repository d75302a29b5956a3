// For the program without the training engine: reached only if there is no impart-engine beside it.

#include "cli/commands.h"
#include "impart/core/error.h"

namespace impart::cli {

void add_data_command(CLI::App& app) {
  auto* command = app.add_subcommand("data", "Look at, pack and check data sets");
  command->allow_extras();
  command->callback([] {
    throw ConfigError(
        "data commands are missing: this impart was built with IMPART_TRAIN=OFF, or impart-engine "
        "is "
        "not beside it");
  });
}

}  // namespace impart::cli
