#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "impart/study/record.h"

namespace impart::study {

enum class Standing {
  kWaiting,  ///< not begun
  kRunning,
  kStopped,  ///< interrupted; goes on where it was
  kDone,
  kFailed,
};
std::string_view state_name(Standing state);

/// How one run of a study is, by what its run directory says.
struct RunReport {
  Standing state = Standing::kWaiting;
  std::string reason = {};           ///< of a failure
  std::optional<double> value = {};  ///< the study's metric, if done
  double seconds = 0;                ///< seconds_total, if done
  std::uint32_t epochs_done = 0;     ///< if begun
  /// Why the directory holds something else than this run: "has another configuration". Such a
  /// directory must neither be used nor written to.
  std::string misfit = {};
};

/// Looks at the run directory. Never throws for what is in it. kRunning is only known to whoever
/// started the run; a run without an end is kStopped here.
RunReport inspect_run(const std::string& directory, const StudyRun& run, const std::string& metric);

/// Epochs in metrics.jsonl; reads only its end.
std::uint32_t epochs_done(const std::string& run_folder);

/// The last line of text in a file that is not blank, without a leading "impart: "; "" if there is
/// none. Reads only its end.
std::string last_line(const std::string& path);

}  // namespace impart::study
