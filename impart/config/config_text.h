#pragma once

#include <string>

#include "impart/config/config.h"
#include "impart/config/schema.h"

namespace impart::config {

/// A config as YAML that load_config reads back to an equal one: all keys, defaults too. Comments
/// say how many epochs the shares are.
std::string to_yaml(const RunConfig& config);

/// 16 hex digits (XXH3) that are equal for configs with equal results: a share of the run counts as
/// the number of epochs that it is. Keys whose changes_result is
/// false are left out (docs/configuration.md lists them). Device and threads are among them: they
/// change the rounding, not the experiment. The kind of store changes no weight, but what a run
/// costs, and counts.
std::string config_hash(const RunConfig& config);

/// Two lines per key for a terminal: key, default and meaning, then what is allowed.
std::string help_text(const Schema& schema);

/// One row per key: key, default, what is allowed, meaning, and whether it changes the result.
std::string markdown_table(const Schema& schema);

}  // namespace impart::config
