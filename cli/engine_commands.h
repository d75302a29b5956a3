#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace impart::cli {

/// A command that `impart` hands over to `impart-engine`, the program beside it that links the
/// tensor library.
struct EngineCommand {
  std::string_view name, summary;
};

inline constexpr EngineCommand kEngineCommands[] = {
    {"train", "Train a model, examples dealt by importance"},
    {"data", "Look at, pack, check and fetch data sets"},
    {"io", "What strategies cost in disk, network, messages and storage"},
};

/// Adds the command of that name, a row of the table.
CLI::App* add_engine_command(CLI::App& app, std::string_view name);

/// Adds all of them: in impart-engine what they do, in impart what to say if there is no
/// impart-engine.
void add_engine_commands(CLI::App& app);

}  // namespace impart::cli
