#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace impart::cli {

/// Adds `blocks` to the command `data`.
void add_data_blocks(CLI::App& data_command);

}  // namespace impart::cli
