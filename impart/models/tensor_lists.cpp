#include "impart/models/tensor_lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace impart::models {

void append_list(std::string& message, std::string_view kind, std::vector<std::string> items) {
  constexpr std::size_t kMostItems = 5;
  if (items.empty()) return;
  const std::size_t total = items.size();
  if (total > kMostItems) {
    items.resize(kMostItems);
    items.push_back(fmt::format("and {} more", total - kMostItems));
  }
  message += fmt::format("; {}: {}", kind, fmt::join(items, ", "));
}

}  // namespace impart::models
