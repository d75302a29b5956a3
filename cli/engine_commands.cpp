#include "cli/engine_commands.h"

#include <algorithm>

namespace impart::cli {

CLI::App* add_engine_command(CLI::App& app, std::string_view name) {
  const auto row = std::find_if(std::begin(kEngineCommands), std::end(kEngineCommands),
                                [&](const EngineCommand& command) { return command.name == name; });
  return app.add_subcommand(std::string(name), std::string(row->summary));
}

}  // namespace impart::cli
