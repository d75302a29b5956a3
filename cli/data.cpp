// impart data: look after data sets.

#include "cli/commands.h"
#include "cli/data_fetch.h"

namespace impart::cli {

void add_data_command(CLI::App& app) {
  auto* command = app.add_subcommand("data", "Download data sets");
  command->require_subcommand(1);
  add_data_fetch(*command);
}

}  // namespace impart::cli
