#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace impart::run {

// The small files of a run directory: env.json, and the marker that says how the run ended. All are
// written complete or not at all. IoError if they cannot be. For summary.json see summary.h.

/// How a run ended. A run without a status is running, or died without a word.
enum class RunStatus { kDone, kFailed, kPreempted };

/// Leaves exactly one of DONE, FAILED, PREEMPTED in the folder, with `note` as its text.
void mark_status(const std::string& folder, RunStatus status, std::string_view note);

/// Takes the marker away: the run goes on.
void clear_status(const std::string& folder);

/// DataError if there are several markers.
std::optional<RunStatus> read_status(const std::string& folder);

/// Name and version of something a run depends on.
using Version = std::pair<std::string, std::string>;

/// Writes folder/env.json: what the run was built from and runs on (commit if known, compiler,
/// processor, cores, kernel, C library, versions), and `more`: versions that only the caller knows.
/// Names neither the machine nor its user.
void write_environment(const std::string& folder, const std::vector<Version>& more);

/// What a run was built from, as env.json says it; "" for what it does not say.
struct Build {
  std::string version, commit;
};
/// DataError if folder/env.json is there and is not JSON.
Build read_build(const std::string& folder);

}  // namespace impart::run
