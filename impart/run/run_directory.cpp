#include "impart/run/run_directory.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/known_files.h"

namespace impart::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "run.lock";
constexpr std::string_view kOwnTitle = "impart run directory";
constexpr std::string_view kGuestTitle = "impart run directory in a folder with other files";

/// All that impart writes into a run directory: docs/formats.md. log.txt and task.lock are a
/// study's, report/ that of `impart report`.
constexpr const char* kFilesOfRuns[] = {
    kLockFile,
    "config.yaml",
    "env.json",
    "metrics.jsonl",
    "ledger.jsonl",
    "summary.json",
    "importance.csv",
    "importance.npy",
    "history.npy",
    "model.json",
    "tokenizer.txt",
    "texts.jsonl",
    "images.jsonl",
    "labels.npy",
    "hidden.npy",
    "log.txt",
    "task.lock",
    "DONE",
    "FAILED",
    "PREEMPTED",
    "events.out.tfevents.*",
    "steps/events.out.tfevents.*",
    "partitions/epoch-[0-9]*.csv",
    "checkpoints/*step-[0-9]*/*.json",
    "checkpoints/*step-[0-9]*/*.npy",
    "checkpoints/*step-[0-9]*/*.safetensors",
    "checkpoints/*step-[0-9]*/importance.table",
    "checkpoints/*step-[0-9]*/tokenizer.txt",
    "report/report.html",
    "report/report.md",
    "report/tables.csv",
    "report/tables.tex",
    "report/figures/*.svg",
};

std::string lock_path(const std::string& folder) {
  return fmt::format("{}/{}", folder, kLockFile);
}

bool has_title(const std::string& folder, std::string_view title) {
  std::ifstream file(lock_path(folder));
  std::string line;
  return std::getline(file, line) && line == title;
}

/// Runs of versions that did not mark their directories are known by what they wrote first.
bool is_older_run(const std::string& folder) {
  const std::string path = folder + "/env.json";
  if (!fs::is_regular_file(path) || !fs::is_regular_file(folder + "/config.yaml")) return false;
  const auto json = nlohmann::json::parse(InputFile(path).text(), nullptr, /*exceptions=*/false);
  const auto has_text = [&](const char* name) {
    return json.contains(name) && json[name].is_string();
  };
  return json.is_object() && has_text("impart") && has_text("commit") && has_text("compiler") &&
         has_text("kernel");
}

KnownFiles files_of_run(const std::string& folder) {
  constexpr const char* kFirstFile[] = {kLockFile};  // empty, if a process died while it made it
  if (!fs::is_directory(folder)) return {};
  const bool is_run = has_title(folder, kOwnTitle) || is_older_run(folder);
  return is_run ? sort_files(folder, kFilesOfRuns) : sort_files(folder, kFirstFile);
}

/// Files that were there before the run are not impart's, whatever they are called.
std::string_view title_for(const std::string& folder, EarlierRun earlier) {
  const bool is_guest = earlier == EarlierRun::kRefuse ? !files_of_run(folder).foreign.empty()
                                                       : has_title(folder, kGuestTitle);
  return is_guest ? kGuestTitle : kOwnTitle;
}

/// What may be deleted.
KnownFiles deletable_files(const std::string& folder) {
  if (has_title(folder, kGuestTitle)) {
    throw ConfigError(
        fmt::format("{}: other files were there before the run, so --overwrite deletes nothing; "
                    "delete what you do not need, or choose another output",
                    folder));
  }
  KnownFiles files = files_of_run(folder);
  if (!files.foreign.empty()) {
    throw ConfigError(
        fmt::format("{}: --overwrite deletes only runs, and this folder holds what is not of a "
                    "run: {}; move that away, or choose another output",
                    folder, list_some(files.foreign)));
  }
  std::erase(files.known, kLockFile);  // held by whoever deletes
  return files;
}

void refuse_run_in(const std::string& folder) {
  if (!fs::exists(folder + "/config.yaml")) return;
  throw ConfigError(
      fmt::format("{}: already holds a run; go on with it by --resume, start again by "
                  "--overwrite, or choose another output",
                  folder));
}

/// Makes the folder, unless something in it is in the way. Returns its path.
const std::string& prepare(const std::string& folder, EarlierRun earlier) {
  if (earlier == EarlierRun::kRefuse) refuse_run_in(folder);
  if (earlier == EarlierRun::kDelete) deletable_files(folder);
  make_folder(folder);
  return folder;
}

[[noreturn]] void refuse_second_process(const std::string& folder, pid_t holder) {
  if (holder == 0) {
    throw ConfigError(
        fmt::format("{}: a process on another machine trains in this run directory; wait for its "
                    "end, or stop it",
                    folder));
  }
  throw ConfigError(
      fmt::format("{0}: process {1} trains in this run directory; wait for its end, or let it "
                  "checkpoint and stop with: kill {1}",
                  folder, holder));
}

/// Whoever only asks whether a run is under way holds its lock for a moment.
bool take_soon(FileLock& lock) {
  constexpr int kTries = 5;
  for (int i = 1; !lock.try_take(); ++i) {
    if (i == kTries) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace

RunDirectory::RunDirectory(const std::string& path, EarlierRun earlier)
    : path_(prepare(path, earlier)),
      lock_({.path = lock_path(path), .title = std::string(title_for(path, earlier))}) {
  if (!take_soon(lock_)) refuse_second_process(path_, lock_.living_holder());
  // Until now another process might have written here.
  if (earlier == EarlierRun::kRefuse) refuse_run_in(path_);
  if (earlier == EarlierRun::kDelete) remove_known(path_, deletable_files(path_));
}

void RunDirectory::check_in_place() const {
  if (lock_.is_in_place()) return;
  throw IoError(fmt::format(
      "{}: the run directory was deleted, moved or replaced while the run wrote to it", path_));
}

bool RunDirectory::is_written(const std::string& path) {
  return FileLock::is_held(lock_path(path));
}

}  // namespace impart::run
