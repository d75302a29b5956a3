// For the program without the training engine: reached only if there is no impart-engine beside it.

#include "cli/commands.h"
#include "impart/core/error.h"

namespace impart::cli {

void add_study_command(CLI::App& app) {
  auto* command = app.add_subcommand("study", "Run a grid of settings x seeds to its end");
  command->allow_extras();
  command->callback([] {
    throw ConfigError(
        "there is no training engine: this impart was built with IMPART_TRAIN=OFF, or "
        "impart-engine is not beside it");
  });
}

}  // namespace impart::cli
