// For impart, which trains by becoming impart-engine.

#include "cli/engine.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/train.h"
#include "cli/trained/requests.h"
#include "impart/core/error.h"

namespace impart::cli {
namespace {

char** arguments_of_main = nullptr;

bool is_program(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

/// Empty if this program does not know where it is.
std::string engine_beside() {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length <= 0) return "";
  return std::string(self.data(), static_cast<std::size_t>(length)) + "-engine";
}

/// Empty if there is none. The command of the Python package may lie in an environment of its own,
/// and the engine among the programs of the system.
std::string engine_path() {
  if (const std::string beside = engine_beside(); is_program(beside)) return beside;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (const std::string engine = folder + "/impart-engine"; is_program(engine)) return engine;
  }
  return "";
}

/// Threads that wait for each other spin for a while before they sleep, by default for longer than
/// a whole operation takes. Where other programs use the same cores that wait keeps from working
/// who is waited for: a step of a small model then took up to five times as long.
void let_waiting_threads_sleep() {
  const bool user_decides =
      std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  if (!user_decides) ::setenv("GOMP_SPINCOUNT", "3000", 1);
}

/// OpenBLAS starts a thread for each core when it is loaded, and they spin until they fall asleep.
/// A run says how many it wants when it has read its configuration.
void load_blas_with_one_thread() {
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

[[noreturn]] void become_engine() {
  require_engine();
  let_waiting_threads_sleep();
  ::execv(engine_path().c_str(), arguments_of_main);
  throw Error("impart-engine cannot be started");
}

}  // namespace

void keep_arguments(char** argv) {
  arguments_of_main = argv;
  const bool serves =
      argv[0] != nullptr && argv[1] != nullptr && std::string_view(argv[1]) == "serve";
  if (serves) become_engine();
}

void end_engine(int) {}

void require_engine() {
  if (!engine_path().empty()) return;
  throw ConfigError(
      "this needs impart-engine, which computes with models and is neither beside this impart nor "
      "in "
      "PATH: install impart's Debian package, or run './quickstart' in its sources and then 'pip "
      "install .' again");
}

void train_here(const TrainRequest&) {
  load_blas_with_one_thread();
  become_engine();
}
void evaluate_here(const EvaluateRequest&) {
  become_engine();
}
void predict_here(const PredictRequest&) {
  become_engine();
}
void sample_here(const SampleRequest&) {
  become_engine();
}

void add_commands(CLI::App& app) {
  add_train_command(app);
  add_trained_commands(app);
  add_export_command(app);
  add_diff_command(app);
  add_study_command(app);
  add_data_command(app);
  add_io_command(app);
  add_simulate_command(app);
  add_report_command(app);
  add_partition_command(app);
  add_schedule_command(app);
  add_list_command(app);
  add_completion_command(app);
  add_man_command(app);
}

}  // namespace impart::cli
