#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace impart::cli {

/// Objects as lines of the columns, under their names.
void print_csv(const nlohmann::ordered_json& rows, const std::vector<std::string>& columns);

std::vector<std::string> keys_of(const nlohmann::ordered_json& object);

}  // namespace impart::cli
