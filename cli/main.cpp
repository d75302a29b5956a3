// The command `impart`: the only place that prints errors and turns them into exit codes.

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/terminal_text.h"
#include "cli/usage.h"
#include "impart/comm/neighbours.h"
#include <CLI/CLI.hpp>

namespace {

using Arguments = std::vector<std::string>;

int report(const char* what, int code) {
  const std::string name = coloured(impart::cli::look_at_terminal(), "1;31", "impart:");
  impart::cli::say("{} {}\n", name, impart::cli::harmless(what, "\n"));
  return code;
}

/// All processes that mpirun starts on a machine find the same error: the first of them says so.
int report_once(const char* what, int code) {
  const bool speaks =
      impart::comm::is_first_on_machine([](const char* name) { return std::getenv(name); });
  return speaks ? report(what, code) : code;
}

/// Asking for help is an error, too, for the parser.
int end_parse(const CLI::App& app, const CLI::ParseError& error, const Arguments& arguments) {
  if (error.get_exit_code() != 0) {
    return report_once(impart::cli::explain_usage(app, error, arguments).c_str(),
                       impart::cli::kUsageError);
  }
  std::ostringstream out, err;
  app.exit(error, out, err);
  impart::cli::answer_text(out.str());
  return 0;
}

/// `impart help train` is `impart train --help`.
Arguments read_arguments(int argc, char** argv) {
  Arguments arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

int run(int argc, char** argv) {
  impart::cli::keep_arguments(argv);
  CLI::App app("importance-aware data-parallel training", "impart");
  app.set_version_flag("--version", IMPART_VERSION);
  app.require_subcommand(1);
  impart::cli::add_commands(app);
  const Arguments arguments = read_arguments(argc, argv);
  impart::cli::check_commands(app, arguments);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // it takes them from the end
  } catch (const CLI::ParseError& error) {
    return end_parse(app, error, arguments);
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
    impart::cli::end_engine(code);
    return code;
  } catch (...) {
    const impart::cli::Failure failure = impart::cli::current_failure();
    const auto tell = failure.code == impart::cli::kUsageError ? report_once : report;
    return tell(failure.message.c_str(), failure.code);
  }
}
