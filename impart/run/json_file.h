#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace impart::run {

/// Writes an indented JSON file, complete or not at all. IoError.
void write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace impart::run
