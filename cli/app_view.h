// The commands and their options as the parser knows them, for all that describes them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace impart::cli {

/// What `impart … --help` shows of an option.
struct OptionView {
  std::vector<std::string> flags;  ///< "-q", "--quiet"; none for an argument without a flag
  std::string argument;            ///< "CONFIG", "TEXT"; "" for a flag without a value
  std::string description;
  bool is_required = false;
};

/// The commands of a command that --help shows.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

std::vector<OptionView> options_of(const CLI::App& command);

/// "impart data fetch"
std::string path_of(const CLI::App& command);

/// Whether a command takes key=value arguments that change a configuration.
bool takes_settings(const CLI::App& command);

}  // namespace impart::cli
