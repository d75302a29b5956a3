#include "impart/config/config_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

namespace impart::config {
namespace {

/// Whether YAML takes the text for itself without quotes. Stricter than it must be.
bool is_plain(std::string_view text) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_fine = [&](char c) {
    return is_word(c) || std::string_view("_-./+{}").find(c) != std::string_view::npos;
  };
  if (text.empty() || !(is_word(text[0]) || text[0] == '/' || text[0] == '.')) return false;
  if (text == "null" || text == "Null" || text == "NULL" || text == "...") return false;
  return std::all_of(text.begin(), text.end(), is_fine);
}

/// Values have no control characters, so only two characters need an escape.
std::string quoted_if_needed(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string written(const ConfigKey& key, const RunConfig& config) {
  WrittenValue value = key.get(config);
  if (!key.is_list) return quoted_if_needed(value.front());
  for (std::string& item : value) item = quoted_if_needed(item);
  return fmt::format("[{}]", fmt::join(value, ", "));
}

/// A comment that says what a share of the run is; "" for all else.
std::string resolved_share(const ConfigKey& key, const RunConfig& config) {
  if (!key.resolve_share) return "";
  RunConfig resolved = config;
  key.resolve_share(resolved);
  if (resolved == config) return "";
  return fmt::format("  # of {} epochs: {}", config.epochs, written(key, resolved));
}

/// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

}  // namespace

std::string to_yaml(const RunConfig& config) {
  std::string yaml;
  std::string_view section;
  for (const ConfigKey& key : common_schema()) {
    if (key.section != section && !key.section.empty()) yaml += fmt::format("{}:\n", key.section);
    section = key.section;
    yaml += fmt::format("{}{}: {}{}\n", section.empty() ? "" : "  ", key.name, written(key, config),
                        resolved_share(key, config));
  }
  return yaml;
}

std::string config_hash(const RunConfig& config) {
  const RunConfig resolved = without_shares(config);
  const RunConfig defaults = without_shares({.epochs = config.epochs});
  std::string canonical;
  for (const ConfigKey& key : common_schema()) {
    const bool counts = key.counts_at_default || key.get(resolved) != key.get(defaults);
    if (key.changes_result && counts) {
      canonical += fmt::format("{}={}\n", key.path(), written(key, resolved));
    }
  }
  return fmt::format("{:016x}", XXH3_64bits(canonical.data(), canonical.size()));
}

std::string help_text(const Schema& schema) {
  std::string help;
  for (const ConfigKey& key : schema) {
    help += fmt::format("  {:<26} {:<20} {}\n  {:<26} {:<20} {}\n", key.path(),
                        written(key, RunConfig{}), key.help, "", "", key.allowed);
  }
  return help;
}

std::string markdown_table(const Schema& schema) {
  std::string table =
      "| key | default | allowed | meaning | changes the result |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : schema) {
    table += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", key.path(), written(key, RunConfig{}),
                         cell(key.allowed), cell(key.help), key.changes_result ? "yes" : "no");
  }
  return table;
}

}  // namespace impart::config
