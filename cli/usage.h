// Arguments: flags that several commands have, and what may be meant by wrong ones.
#pragma once

#include <span>
#include <string>

#include "cli/terminal/terminal.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace impart::cli {

/// -q and -v. `verbosity` must outlive the command.
void add_verbosity(CLI::App& command, Verbosity& verbosity);

/// ConfigError with a suggestion if a word that should be a command is none: `impart tarin`,
/// `impart data ftech`.
void check_commands(const CLI::App& app, std::span<const std::string> arguments);

/// ConfigError if one of the arguments is only the name of a setting: `epochs 3`, `epochs`.
void check_settings(std::span<const std::string> arguments);

/// What is wrong with arguments that the parser refused, and what may be meant.
std::string explain_usage(const CLI::App& app, const CLI::ParseError& error,
                          std::span<const std::string> arguments);

}  // namespace impart::cli
