// For impart-engine, which has every command itself.

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/engine_commands.h"

namespace impart::cli {

void hand_over_to_engine(int, char**) {}

void add_engine_commands(CLI::App& app) {
  add_train_command(app);
  add_data_command(app);
  add_io_command(app);
}

}  // namespace impart::cli
