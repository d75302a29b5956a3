// For builds without the layers that a report is made of.

#include "cli/commands.h"
#include "impart/core/error.h"

namespace impart::cli {

void add_report_command(CLI::App& app) {
  auto* command = app.add_subcommand("report", "Tables, pictures and a verdict from finished runs");
  command->allow_extras();
  command->callback([] {
    throw ConfigError("there are no reports: this impart was built with IMPART_TORCH=OFF");
  });
}

}  // namespace impart::cli
