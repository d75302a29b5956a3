#pragma once

#include <CLI/CLI.hpp>

namespace impart::cli {

/// Adds `blocks` to the command `data`.
void add_data_blocks(CLI::App& data_command);

}  // namespace impart::cli
