#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace impart::run {

// Files of one JSON object per line, for people to look at.

/// The line of an object. Bytes that are not UTF-8 become U+FFFD.
std::string json_line(const nlohmann::ordered_json& json);

/// Calls `take` with the object of every line of a text. DataError ("where:LINE: is no THING: …")
/// if a line is not JSON, or `take` throws a DataError or an exception of the library.
void for_each_json_line(std::string_view text, std::string_view where, std::string_view thing,
                        const std::function<void(const nlohmann::ordered_json&)>& take);

}  // namespace impart::run
