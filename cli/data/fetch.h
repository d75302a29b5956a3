#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace impart::cli {

/// Adds `fetch` to the command `data`.
void add_data_fetch(CLI::App& data_command);

}  // namespace impart::cli
