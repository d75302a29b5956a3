#pragma once

#include <optional>
#include <span>
#include <string>

#include "impart/config/config.h"
#include "impart/config/schema.h"

namespace impart::config {

/// The configuration of a run: defaults, then the YAML file if there is one, then the overrides
/// ("workers.count=8", "importance.record=[el2n, margin]"), then `output` with its placeholders
/// filled in. It has passed validate().
///
/// A file may name another one that it builds on: `base: other.yaml`, relative to its own folder;
/// its own keys win. ConfigError, one line, says where ("run.yaml:12:3", "override 'epochs=x'"),
/// what was found and what is allowed.
RunConfig load_config(const std::optional<std::string>& path,
                      std::span<const std::string> overrides, const OwnParts& own = {});

/// Reads a YAML file and those it builds on into the config. Checks each value, not how they fit
/// together: more may follow. ConfigError as above.
void read_config_file(const std::string& path, const Schema& schema, RunConfig& config);

/// ConfigError if a value is out of its range, or values do not go together (rules.h): names the
/// keys. ConfigError for wrong rows, too.
void validate(const RunConfig& config, const OwnParts& own = {});

/// The run directory: `output` with {name} and {seed} filled in. ConfigError for other
/// placeholders.
std::string expand_output(const RunConfig& config);
/// The same for `store.path`.
std::string expand_store_path(const RunConfig& config);

}  // namespace impart::config
