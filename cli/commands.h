#pragma once

#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace impart::cli {

/// Adds the commands of this program: all of them in impart, those that compute in impart-engine.
void add_commands(CLI::App& app);

/// Each adds its subcommand, whose work happens in a callback while the arguments are parsed.
void add_completion_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_io_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_man_command(CLI::App& app);
void add_partition_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_schedule_command(CLI::App& app);
void add_serve_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_study_command(CLI::App& app);
void add_train_command(CLI::App& app);
/// What is done with runs that are over: `evaluate`, `predict` and `sample`, which need the engine.
void add_trained_commands(CLI::App& app);
void add_export_command(CLI::App& app);
void add_diff_command(CLI::App& app);

/// What `impart list` can show: "notions", "models", …
std::vector<std::string_view> listing_names();

/// How a command ends that neither failed nor simply succeeded: what its callback throws.
struct ExitCode {
  int code;
};

}  // namespace impart::cli
