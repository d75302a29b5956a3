#pragma once

#include <optional>
#include <string>

#include "impart/results/results.h"

namespace impart::results {

// One run directory as a result. docs/formats.md, "Run directory", says what is in it.

/// Whether the folder holds anything that only a run writes.
bool looks_like_run(const std::string& folder);

/// A finished run: its summary, its epochs and the text of its configuration. DataError, one line
/// without the folder's name, says why there is no result: empty, running or killed, preempted,
/// failed, or which file is broken. A `wanted_hash` that is not empty must be the summary's.
RunResult read_run(const std::string& folder, const std::string& wanted_hash = "");

/// The text of a config.yaml as keys and values, in its order. DataError if it is not YAML.
SettingTexts flatten_config(const std::string& text);

}  // namespace impart::results
