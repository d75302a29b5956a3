// Names of arms that nobody named, and of their folders.

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/config_keys.h"
#include "impart/study/arms.h"

namespace impart::study {
namespace {

constexpr std::size_t kLongestSlug = 60;

enum class Style {
  kShort,  ///< stripes warmup=10
  kNamed,  ///< heuristic=stripes warmup=10
  kFull,   ///< partition.heuristic=stripes partition.warmup=10
};

/// Says by itself what it is: no number, no truth value.
bool speaks_for_itself(const std::string& value) {
  return !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) != 0 &&
         value != "true" && value != "false" && value != "none";
}

bool is_unambiguous(const config::ConfigKey& key, std::span<const config::ConfigKey* const> keys) {
  return std::count_if(keys.begin(), keys.end(), [&](const config::ConfigKey* other) {
           return other->name == key.name;
         }) == 1;
}

std::string name_in(Style style, const config::RunConfig& config,
                    std::span<const config::ConfigKey* const> keys) {
  std::vector<std::string> parts;
  for (const config::ConfigKey* key : keys) {
    const std::string value = setting_text(*key, config);
    const bool full = style == Style::kFull || !is_unambiguous(*key, keys);
    const bool bare = style == Style::kShort && speaks_for_itself(value);
    const std::string label = full ? key->path() : std::string(key->name);
    parts.push_back(bare ? value : fmt::format("{}={}", label, value));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

bool are_unique(const std::vector<std::string>& names, std::span<const std::string> taken) {
  std::set<std::string> all(taken.begin(), taken.end());
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return all.insert(name).second; });
}

std::vector<std::string> numbered(std::vector<std::string> names,
                                  std::span<const std::string> taken) {
  std::set<std::string> all(taken.begin(), taken.end());
  for (std::string& name : names) {
    const std::string start = name;
    for (int number = 2; !all.insert(name).second; ++number) {
      name = fmt::format("{} ({})", start, number);
    }
  }
  return names;
}

std::string slug_of(const std::string& name) {
  std::string slug;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80 && std::isalnum(byte) != 0) {
      slug += static_cast<char>(std::tolower(byte));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  slug.resize(std::min(slug.size(), kLongestSlug - 8));
  while (slug.ends_with('-')) slug.pop_back();
  return slug.empty() ? "arm" : slug;
}

}  // namespace

std::vector<std::string> name_by_difference(std::span<const config::RunConfig> configs,
                                            std::span<const Settings> settings,
                                            std::span<const std::string> taken,
                                            const config::Schema& schema) {
  auto keys = differing_keys(configs, schema);
  if (keys.empty() && !settings.empty()) {
    for (const Setting& setting : settings.front())
      keys.push_back(&config::key_at(schema, setting.key));
  }
  std::vector<std::string> names;
  for (const Style style : {Style::kShort, Style::kNamed, Style::kFull}) {
    names.clear();
    for (const config::RunConfig& config : configs) names.push_back(name_in(style, config, keys));
    if (are_unique(names, taken)) return names;
  }
  return numbered(std::move(names), taken);
}

std::vector<std::string> make_slugs(std::span<const std::string> names) {
  std::set<std::string> all;
  std::vector<std::string> slugs;
  for (const std::string& name : names) {
    const std::string start = slug_of(name);
    std::string slug = start;
    for (int number = 2; !all.insert(slug).second; ++number) {
      slug = fmt::format("{}-{}", start, number);
    }
    slugs.push_back(slug);
  }
  return slugs;
}

}  // namespace impart::study
