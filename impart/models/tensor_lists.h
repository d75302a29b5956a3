#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace impart::models {

/// Appends "; missing: a, b" to a message; nothing if the list is empty. Long lists are cut.
void append_list(std::string& message, std::string_view kind, std::vector<std::string> items);

}  // namespace impart::models
