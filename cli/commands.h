#pragma once

#include <CLI/CLI.hpp>

namespace impart::cli {

/// Each adds its subcommand, whose work happens in a callback while the arguments are parsed.
void add_data_command(CLI::App& app);
void add_io_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_partition_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_schedule_command(CLI::App& app);
void add_study_command(CLI::App& app);
void add_train_command(CLI::App& app);

/// How a command ends that neither failed nor simply succeeded: what its callback throws.
struct ExitCode {
  int code;
};

}  // namespace impart::cli
