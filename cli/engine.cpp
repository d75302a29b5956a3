// For impart, which trains by becoming impart-engine.

#include "cli/engine.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/train.h"
#include "impart/core/error.h"

namespace impart::cli {
namespace {

/// A config is explained and checked here.
bool asks_for_run(int argc, char** argv) {
  constexpr std::string_view kAnsweredHere[] = {"--dry-run", "--keys", "--help", "-h"};
  const auto is_answered_here = [&](std::string_view argument) {
    return std::find(std::begin(kAnsweredHere), std::end(kAnsweredHere), argument) !=
           std::end(kAnsweredHere);
  };
  return argc >= 2 && std::string_view(argv[1]) == "train" &&
         std::none_of(argv + 2, argv + argc, is_answered_here);
}

/// Empty if this program does not know where it is.
std::string engine_path() {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length <= 0) return "";
  return std::string(self.data(), static_cast<std::size_t>(length)) + "-engine";
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
  if (!asks_for_run(argc, argv)) return;
  const std::string engine = engine_path();
  if (engine.empty()) return;
  let_waiting_threads_sleep();
  ::execv(engine.c_str(), argv);
}

void require_engine() {
  if (::access(engine_path().c_str(), X_OK) == 0) return;
  throw ConfigError(
      "nothing can be trained: this impart was built without the training engine "
      "(IMPART_TORCH=OFF), or impart-engine is not beside it");
}

void train_here(const TrainRequest&) {
  require_engine();
  throw Error("impart-engine cannot be started");
}

void add_commands(CLI::App& app) {
  add_train_command(app);
  add_study_command(app);
  add_data_command(app);
  add_io_command(app);
  add_report_command(app);
  add_partition_command(app);
  add_schedule_command(app);
  add_list_command(app);
  add_completion_command(app);
  add_man_command(app);
}

}  // namespace impart::cli
