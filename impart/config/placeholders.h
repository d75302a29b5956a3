#pragma once

#include <string>
#include <string_view>

#include "impart/config/config.h"

namespace impart::config {

// {name} and {seed} in the paths of a configuration.

/// The first placeholder that there is not, "{date}"; "" if all are known.
std::string_view find_unknown_placeholder(std::string_view text);

/// "output: unknown placeholder '{date}'; allowed: {name}, {seed}"
std::string describe_unknown_placeholder(std::string_view key, std::string_view text);

/// The text of a key with its placeholders filled in. ConfigError for unknown ones.
std::string fill_in_placeholders(std::string_view key, std::string_view text,
                                 const RunConfig& config);

}  // namespace impart::config
