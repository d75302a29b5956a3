// Chosen by CMake where the training engine is not built.

#include "cli/commands.h"
#include "impart/core/error.h"

namespace impart::cli {

void add_train_command(CLI::App& app) {
  auto* command = app.add_subcommand("train", "Train a model (not in this build)");
  command->allow_extras();
  command->callback([] {
    throw ConfigError("this impart was built without its training engine (IMPART_TRAIN=OFF)");
  });
}

}  // namespace impart::cli
