#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "impart/config/schema.h"

namespace impart::config {

// Finding keys of the configuration by what a user wrote, for all that reads them.

/// The key of a file that names the file it builds on; it is not part of the schema.
inline constexpr std::string_view kBaseKey = "base";

/// nullptr if there is none.
const ConfigKey* find_key(const Schema& schema, std::string_view section, std::string_view name);

/// The key "workers.count"; ConfigError with a suggestion if there is none.
const ConfigKey& key_at(const Schema& schema, std::string_view path);

bool is_section(const Schema& schema, std::string_view name);

/// What may stand in a section ("": at the top level), each once.
std::vector<std::string_view> keys_in(const Schema& schema, std::string_view section);

/// "unknown key 'heuristik' in partition, did you mean 'heuristic'?"
std::string describe_unknown_key(const Schema& schema, std::string_view section,
                                 std::string_view name);

/// "workers is a section with the keys count, batch, …"
std::string describe_section(const Schema& schema, std::string_view section);

/// The key that "workers.count=8" sets. ConfigError if it is not of that form or names no key.
const ConfigKey& overridden_key(const Schema& schema, std::string_view text);

/// Carries out "workers.count=8", "importance.record=[el2n, margin]". ConfigError says what was
/// found and what is allowed.
void apply_override(const Schema& schema, std::string_view text, RunConfig& config);

}  // namespace impart::config
