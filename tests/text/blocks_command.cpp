// `data blocks` alone, without the tensor library, which takes half a second to load: for tests
// that call it often. Exit codes are those of impart.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data_blocks.h"
#include "impart/core/error.h"
#include <CLI/CLI.hpp>

namespace {

int report(const char* what, int code) {
  fmt::print(stderr, "impart: {}\n", what);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("shows text", "impart");
  impart::cli::add_data_blocks(*app.add_subcommand("data"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const impart::ConfigError& error) {
    return report(error.what(), 2);
  } catch (const impart::DataError& error) {
    return report(error.what(), 65);
  } catch (const impart::IoError& error) {
    return report(error.what(), 74);
  } catch (const impart::cli::ExitCode& exit) {
    return exit.code;
  }
  return 0;
}
