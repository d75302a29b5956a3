// The command `impart`: the only place that prints errors and turns them into exit codes.

#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/output.h"
#include "cli/terminal_text.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include <CLI/CLI.hpp>

namespace {

constexpr int kUsageError = 2;
constexpr int kDataError = 65;
constexpr int kInternalError = 70;
constexpr int kIoError = 74;
constexpr int kPeerError = 75;

int report(const char* what, int code) {
  impart::cli::say("impart: {}\n", impart::cli::harmless(what, "\n"));
  return code;
}

/// The parser would only say that a command is missing.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  impart::throw_unknown_name("command", argv[1],
                             std::vector<std::string_view>(names.begin(), names.end()));
}

/// Asking for help is an error, too, for the parser.
int end_parse(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  impart::cli::answer_text(out.str());
  impart::cli::say_text(err.str());
  return code == 0 ? 0 : kUsageError;
}

int run(int argc, char** argv) {
  impart::cli::hand_over_to_engine(argc, argv);
  CLI::App app("importance-aware data-parallel training", "impart");
  app.set_version_flag("--version", IMPART_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("impart: {}; see 'impart --help'\n", error.what());
  });
  impart::cli::add_commands(app);
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_parse(app, error);
  } catch (const impart::cli::ExitCode& exit) {
    return exit.code;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  impart::cli::prepare_output();
  try {
    const int code = run(argc, argv);
    impart::cli::finish_output();
    return code;
  } catch (const impart::ConfigError& error) {
    return report(error.what(), kUsageError);
  } catch (const impart::DataError& error) {
    return report(error.what(), kDataError);
  } catch (const impart::IoError& error) {
    return report(error.what(), kIoError);
  } catch (const impart::PeerError& error) {
    return report(error.what(), kPeerError);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kInternalError);
  } catch (const std::exception& error) {
    return report(error.what(), kInternalError);
  }
}
