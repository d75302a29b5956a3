#pragma once

// A command alone, without the tensor library, which takes half a second to load: for tests that
// call it often. Exit codes are those of impart.

#include <fmt/format.h>

#include "cli/commands.h"
#include "impart/core/error.h"
#include <CLI/CLI.hpp>

namespace impart::testing {

/// main() of a program that has only what `add` gives to the subcommand `data`.
inline int run_data_command(int argc, char** argv, void (*add)(CLI::App&)) {
  const auto report = [](const char* what, int code) {
    fmt::print(stderr, "impart: {}\n", what);
    return code;
  };
  CLI::App app("a command alone", "impart");
  add(*app.add_subcommand("data"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const ConfigError& error) {
    return report(error.what(), 2);
  } catch (const DataError& error) {
    return report(error.what(), 65);
  } catch (const IoError& error) {
    return report(error.what(), 74);
  } catch (const cli::ExitCode& exit) {
    return exit.code;
  }
  return 0;
}

}  // namespace impart::testing
