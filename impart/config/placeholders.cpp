#include "impart/config/placeholders.h"

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::config {
namespace {

/// The next placeholder, its braces included; "" if there is none. One without its end goes to the
/// end of the text.
std::string_view next_placeholder(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == text.npos) return {};
  const std::size_t close = text.find('}', open);
  return text.substr(open, close == text.npos ? close : close + 1 - open);
}

bool is_known(std::string_view placeholder) {
  return placeholder == "{name}" || placeholder == "{seed}";
}

}  // namespace

std::string_view find_unknown_placeholder(std::string_view text) {
  while (true) {
    const std::string_view placeholder = next_placeholder(text);
    if (!is_known(placeholder)) return placeholder;
    text = {placeholder.end(), text.end()};
  }
}

std::string describe_unknown_placeholder(std::string_view key, std::string_view text) {
  return fmt::format("{}: unknown placeholder '{}'; allowed: {{name}}, {{seed}}", key,
                     find_unknown_placeholder(text));
}

std::string fill_in_placeholders(std::string_view key, std::string_view text,
                                 const RunConfig& config) {
  if (!find_unknown_placeholder(text).empty()) {
    throw ConfigError(describe_unknown_placeholder(key, text));
  }
  std::string filled;
  while (true) {
    const std::string_view placeholder = next_placeholder(text);
    if (placeholder.empty()) return filled.append(text);
    filled.append(text.begin(), placeholder.begin());
    filled += placeholder == "{name}" ? config.name : fmt::to_string(config.seed);
    text = {placeholder.end(), text.end()};
  }
}

}  // namespace impart::config
