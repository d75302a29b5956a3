// For the program without the training engine: it starts the one that has it.

#include "cli/engine.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/engine_commands.h"
#include "impart/core/error.h"

namespace impart::cli {
namespace {

/// `list` of the tables that this program has needs no engine.
bool needs_engine(int argc, char** argv) {
  if (argc < 2) return false;
  const std::string_view command = argv[1];
  const std::string_view argument = argc > 2 ? argv[2] : "";
  const bool is_here = argument == "notions" || argument == "heuristics" || argument == "exchanges";
  const bool is_engines =
      std::any_of(std::begin(kEngineCommands), std::end(kEngineCommands),
                  [&](const EngineCommand& row) { return row.name == command; });
  return is_engines || (command == "list" && !is_here);
}

/// Threads that wait for each other spin for a while before they sleep, by default for longer than
/// a whole operation takes. Where other programs use the same cores that wait keeps from working
/// who is waited for: a step of a small model then took up to five times as long.
void let_waiting_threads_sleep() {
  const bool user_decides =
      std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  if (!user_decides) ::setenv("GOMP_SPINCOUNT", "3000", 1);
}

}  // namespace

void hand_over_to_engine(int argc, char** argv) {
  if (!needs_engine(argc, argv)) return;
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length <= 0) return;
  const std::string engine = std::string(self.data(), static_cast<std::size_t>(length)) + "-engine";
  let_waiting_threads_sleep();
  ::execv(engine.c_str(), argv);
}

void add_engine_commands(CLI::App& app) {
  for (const EngineCommand& row : kEngineCommands) {
    CLI::App* command = add_engine_command(app, row.name);
    command->allow_extras();
    command->callback([name = row.name] {
      throw ConfigError(fmt::format(
          "'{}' needs the training engine: this impart was built with IMPART_TORCH=OFF, or "
          "impart-engine is not beside it",
          name));
    });
  }
}

}  // namespace impart::cli
