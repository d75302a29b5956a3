#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "impart/core/named_table.h"

namespace impart::study {

/// Exit codes of a run that launchers tell apart: docs/jobs.md.
inline constexpr int kPreemptedCode = 85;
inline constexpr int kCannotWriteCode = 74;

/// A run as a launcher is asked for it. Its folder has a config.yaml.
struct RunOrder {
  std::size_t run = 0;  ///< index into record.runs
  std::string folder = {};
  std::uint32_t threads = 0;  ///< 0: as many as the launcher sees fit
};

/// How a run ended, beside what its run directory says.
struct RunEnd {
  enum class Kind {
    kByItself,
    kStopped,      ///< somebody asked for it: it goes on at the next start
    kCannotWrite,  ///< and neither could other runs
  };
  std::size_t run = 0;
  Kind kind = Kind::kByItself;
  std::string how = {};  ///< for a run directory that does not say: "exit code 3: its last words"
};

/// A run that a launcher has.
struct LaunchedRun {
  std::size_t run = 0;
  bool has_begun = false;  ///< else it waits for its turn
};

struct LauncherSpec {
  std::string program;     ///< path of the engine: PROGRAM train --resume FOLDER …
  std::string directory;   ///< of the study
  std::uint32_t jobs = 1;  ///< runs at a time
  bool find_jobs = false;  ///< local, on a GPU: find out how many are best, instead
  bool serve = false;      ///< local: PROGRAM serve takes run after run in one process
  bool may_use_gpu = false;
  std::vector<std::string> sbatch = {};  ///< slurm: further arguments of sbatch
  std::string job_script = {};           ///< slurm: what is submitted; "": a script of our own
  std::function<void(const std::string&)> note = {};
};

/// Carries out runs: where, and how many at a time. Nothing here waits for a run to end; the thread
/// that runs the study calls again and again.
class RunLauncher {
 public:
  struct Ends {
    std::vector<RunEnd> runs = {};
    std::vector<std::size_t> returned = {};  ///< not begun, and to be started again
  };

  virtual ~RunLauncher() = default;
  /// Whether the run is under way already, started by an earlier process of the study that is no
  /// more. If so it is this launcher's from now on.
  virtual bool adopt(const RunOrder& /*order*/) { return false; }
  virtual bool has_room() = 0;
  /// After has_room(). False if it cannot be started now but may be later. IoError if it never can.
  virtual bool start(const RunOrder& order) = 0;
  /// The runs that ended since the last call.
  virtual Ends collect() = 0;
  virtual std::vector<LaunchedRun> runs() const = 0;
  /// The user wants to stop: `requests` is 1 the first time, more if that was not soon enough.
  /// Runs end, and are collected, or are left to themselves, and no longer this launcher's.
  virtual void stop(int requests) = 0;
  virtual std::uint32_t jobs() const = 0;
};

using MakeLauncher = std::unique_ptr<RunLauncher>(const LauncherSpec& spec);
MakeLauncher launch_here, launch_by_slurm;

inline constexpr Entry<MakeLauncher> kLaunchers[] = {
    {"local", "processes of this machine", launch_here},
    {"slurm", "jobs of Slurm, one for each run", launch_by_slurm},
};
static_assert(names_are_unique(kLaunchers));

}  // namespace impart::study
