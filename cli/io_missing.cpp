// For the program without the training engine: reached only if there is no impart-engine beside it.

#include "cli/commands.h"
#include "impart/core/error.h"

namespace impart::cli {

void add_io_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("io", "What strategies cost in disk, network, messages and storage");
  command->allow_extras();
  command->callback([] {
    throw ConfigError(
        "'io' is a command of impart-engine: this impart was built with IMPART_TRAIN=OFF, or "
        "impart-engine is not beside it");
  });
}

}  // namespace impart::cli
