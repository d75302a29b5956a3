// Reads study.yaml.

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "impart/config/config_file.h"
#include "impart/config/config_keys.h"
#include "impart/core/error.h"
#include "impart/study/record.h"
#include "impart/study/spec.h"
#include "impart/study/yaml.h"

namespace impart::study {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 14> kStudyKeys = {
    "name",         "base",   "config",
    "arms",         "grid",   "exclude",
    "skip_invalid", "seeds",  "confirmation_seeds",
    "metric",       "target", "jobs",
    "output",       "search"};
constexpr std::array<std::string_view, 2> kSeedKeys = {"count", "master"};
constexpr std::array<std::string_view, 4> kGrowingSeedKeys = {"until", "at_most", "at_least",
                                                              "master"};
constexpr std::uint64_t kFirstLook = 10;
constexpr std::array<std::string_view, 3> kSearchKeys = {"kind", "eta", "min_epochs"};
constexpr std::string_view kNamePlaceholder = "{name}";

/// ConfigError about an override of what only a study has, such as its seeds.
void check_is_of_runs(std::string_view text) {
  const std::string_view name = text.substr(0, text.find_first_of(".="));
  const bool is_shared = name == "name" || name == "output" || name == "config";
  if (is_shared || std::find(kStudyKeys.begin(), kStudyKeys.end(), name) == kStudyKeys.end())
    return;
  throw ConfigError(fmt::format(
      "override '{}': {} is set in the study's file; key=value changes its runs", text, name));
}

class StudyReader : private StudyYaml {
 public:
  using StudyYaml::StudyYaml;

  StudySpec read(std::span<const std::string> overrides);

 private:
  void read_common(const YAML::Node& root, std::span<const std::string> overrides);
  void read_arms(const YAML::Node& arms);
  void read_exclusions(const YAML::Node& list);
  std::vector<std::uint64_t> read_seeds(const YAML::Node& node, std::string_view key,
                                        std::span<const std::uint64_t> taken) const;
  void read_growing_seeds(const YAML::Node& node);
  void read_search(const YAML::Node& node);
  void read_search_options(const YAML::Node& map);
  void read_output();
  void check_overrides(std::span<const std::string> overrides) const;

  StudySpec spec_;
};

void StudyReader::read_common(const YAML::Node& root, std::span<const std::string> overrides) {
  if (const YAML::Node base = root["base"]) {
    const fs::path file = fs::path(path()).parent_path() / value(base, "base", config::text());
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      fail(base, fmt::format("base: there is no file {}", file.string()));
    }
    config::read_config_file(file.string(), schema(), spec_.config);
  }
  if (const YAML::Node config = root["config"]) {
    visit_keys(config, [&](const config::ConfigKey& key, const YAML::Node& node) {
      config::set_key(path(), node, key, spec_.config);
    });
  }
  spec_.config.name =
      root["name"] ? value(root["name"], "name", config::text()) : fs::path(path()).stem().string();
  spec_.config.output =
      root["output"] ? value(root["output"], "output", config::text()) : "studies/{name}";
  for (const std::string& text : overrides) {
    check_is_of_runs(text);
    try {
      config::apply_override(schema(), text, spec_.config);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("override '{}': {}", text, error.what()));
    }
  }
}

void StudyReader::read_arms(const YAML::Node& arms) {
  if (!arms.IsMap()) fail(arms, "arms: expected names, each with its settings");
  bool has_baseline = false;
  for (const auto& entry : arms) {
    NamedArm arm{.name = value(entry.first, "the name of an arm", config::text()), .settings = {}};
    if (arm.name.empty()) fail(entry.first, "the name of an arm is empty");
    const bool is_new = std::none_of(spec_.arms.begin(), spec_.arms.end(),
                                     [&](const NamedArm& other) { return other.name == arm.name; });
    if (!is_new) fail(entry.first, fmt::format("arm '{}' is there twice", arm.name));
    if (!entry.second.IsNull()) {
      arm.settings = read_settings(entry.second);
      const YAML::Node mark = entry.second["baseline"];
      arm.is_baseline = mark && value(mark, "baseline", config::flag());
    }
    if (arm.is_baseline && has_baseline) fail(entry.first, "a second baseline; only one arm is it");
    has_baseline = has_baseline || arm.is_baseline;
    spec_.arms.push_back(std::move(arm));
  }
}

void StudyReader::read_exclusions(const YAML::Node& list) {
  if (!list.IsSequence()) fail(list, "exclude: expected a list of settings");
  for (const auto& item : list) {
    const YAML::Mark mark = item.Mark();
    spec_.exclusions.push_back(
        {.where = fmt::format("{}:{}:{}", path(), mark.line + 1, mark.column + 1),
         .keys = read_grid(item)});
    if (spec_.exclusions.back().keys.empty()) fail(item, "exclude: this would exclude everything");
  }
}

std::vector<std::uint64_t> StudyReader::read_seeds(const YAML::Node& node, std::string_view key,
                                                   std::span<const std::uint64_t> taken) const {
  const auto rule = config::whole<std::uint64_t>(0);
  if (node.IsMap()) {
    check_map(node, fmt::format("key in {}", key), kSeedKeys);
    if (!node["count"]) fail(node, fmt::format("{}: expected {{count: 10, master: 7}}", key));
    const auto count = value(node["count"], "count", config::whole<std::uint64_t>(1));
    const auto master = node["master"] ? value(node["master"], "master", rule) : 1;
    return at(node, key, [&] { return derive_seeds(master, count, taken); });
  }
  if (!node.IsSequence() || node.size() == 0) {
    fail(node, fmt::format("{}: expected a list of seeds, or {{count: 10, master: 7}}", key));
  }
  std::vector<std::uint64_t> seeds;
  for (const auto& item : node) {
    const std::uint64_t seed = value(item, key, rule);
    if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
      fail(item, fmt::format("{}: {} is there twice", key, seed));
    }
    if (std::find(taken.begin(), taken.end(), seed) != taken.end()) {
      fail(item, fmt::format("{}: {} is one of 'seeds'; a winner must be confirmed on seeds that "
                             "did not choose it",
                             key, seed));
    }
    seeds.push_back(seed);
  }
  return seeds;
}

void StudyReader::read_growing_seeds(const YAML::Node& node) {
  check_map(node, "key in seeds", kGrowingSeedKeys);
  if (!node["at_most"]) fail(node, "seeds: expected {until: 0.05, at_most: 200}");
  const auto rule = config::whole<std::uint64_t>(2);
  const auto at_most = value(node["at_most"], "seeds.at_most", rule);
  GrowingSeeds& growing = spec_.growing.emplace();
  growing.until = value(node["until"], "seeds.until", config::number({.without_least = true}));
  growing.at_least = node["at_least"] ? value(node["at_least"], "seeds.at_least", rule)
                                      : std::min(kFirstLook, at_most);
  if (growing.at_least > at_most) {
    fail(node["at_least"],
         fmt::format("seeds.at_least: {} is more than at_most, {}", growing.at_least, at_most));
  }
  const auto master =
      node["master"] ? value(node["master"], "seeds.master", config::whole<std::uint64_t>(0)) : 1;
  spec_.seeds = at(node, "seeds", [&] { return derive_seeds(master, at_most, {}); });
}

void StudyReader::read_search(const YAML::Node& node) {
  using Kind = SearchSpec::Kind;
  const auto rule =
      config::choice<Kind>("search", {{"grid", Kind::kGrid}, {"halving", Kind::kHalving}});
  if (node.IsMap()) {
    check_map(node, "key in search", kSearchKeys);
    if (!node["kind"]) fail(node, "search: expected kind: grid | halving");
    spec_.search.kind = value(node["kind"], "search.kind", rule);
    read_search_options(node);
  } else {
    spec_.search.kind = value(node, "search", rule);
  }
}

void StudyReader::read_search_options(const YAML::Node& map) {
  if (spec_.search.kind == SearchSpec::Kind::kGrid && map.size() > 1) {
    fail(map, "search: a grid has no options; eta and min_epochs are for halving");
  }
  if (map["eta"]) spec_.search.eta = value(map["eta"], "search.eta", config::whole(2u, 1000u));
  if (map["min_epochs"]) {
    spec_.search.min_epochs = value(map["min_epochs"], "search.min_epochs", config::whole(1u));
  }
}

void StudyReader::read_output() {
  config::RunConfig& config = spec_.config;
  spec_.name = config.name;
  if (spec_.name.empty() || spec_.name.find_first_of("/{}") != std::string::npos) {
    throw ConfigError(
        fmt::format("{}: name: '{}' is empty or has one of / {{ }}; it becomes a part of a path",
                    path(), spec_.name));
  }
  spec_.output = config.output;
  const std::size_t placeholder = spec_.output.find(kNamePlaceholder);
  if (placeholder != std::string::npos) {
    spec_.output.replace(placeholder, kNamePlaceholder.size(), spec_.name);
  }
  if (spec_.output.empty() || spec_.output.find_first_of("{}") != std::string::npos) {
    throw ConfigError(fmt::format("{}: output: '{}' is no directory; allowed placeholder: {{name}}",
                                  path(), config.output));
  }
}

/// An override of a key that arms set would change what they are, without their names showing it.
void StudyReader::check_overrides(std::span<const std::string> overrides) const {
  for (const std::string& text : overrides) {
    const std::string key = config::overridden_key(schema(), text).path();
    const auto sets_it = [&](const auto& settings) {
      return std::any_of(settings.begin(), settings.end(),
                         [&](const auto& setting) { return setting.key == key; });
    };
    const bool in_arm = std::any_of(spec_.arms.begin(), spec_.arms.end(),
                                    [&](const NamedArm& arm) { return sets_it(arm.settings); });
    if (in_arm || std::any_of(spec_.grids.begin(), spec_.grids.end(), sets_it)) {
      throw ConfigError(
          fmt::format("override '{}': the arms of {} say what {} is", text, path(), key));
    }
    if (key == "seed") throw ConfigError(fmt::format("override '{}': a study has seeds", text));
  }
}

StudySpec StudyReader::read(std::span<const std::string> overrides) {
  const YAML::Node root = config::parse_yaml(path());
  if (!root.IsMap()) fail(root, "expected a study: keys as in 'seeds: [1, 2, 3]'");
  check_map(root, "key", kStudyKeys);
  read_common(root, overrides);
  read_output();
  if (const YAML::Node arms = root["arms"]) read_arms(arms);
  if (const YAML::Node grid = root["grid"]; grid && grid.IsSequence()) {
    for (const auto& item : grid) spec_.grids.push_back(read_grid(item));
  } else if (grid) {
    spec_.grids.push_back(read_grid(grid));
  }
  check_overrides(overrides);
  if (root["exclude"]) read_exclusions(root["exclude"]);
  if (root["skip_invalid"])
    spec_.skip_invalid = value(root["skip_invalid"], "skip_invalid", config::flag());
  const YAML::Node seeds = root["seeds"];
  if (!seeds) fail(root, "seeds are missing: a list, or {count: 10, master: 7}");
  if (seeds.IsMap() && seeds["until"]) {
    read_growing_seeds(seeds);
  } else {
    spec_.seeds = read_seeds(seeds, "seeds", {});
  }
  if (const YAML::Node metric = root["metric"]) {
    spec_.metric = value(metric, "metric", config::name_of("metric", names_of(kStudyMetrics)));
  }
  constexpr double kAnything = std::numeric_limits<double>::lowest();
  if (root["target"])
    spec_.target = value(root["target"], "target", config::number({.least = kAnything}));
  if (root["jobs"]) spec_.jobs = value(root["jobs"], "jobs", config::whole(1u, 4096u));
  if (root["search"]) read_search(root["search"]);
  const bool halving = spec_.search.kind == SearchSpec::Kind::kHalving;
  if (halving && spec_.growing) fail(seeds, "seeds: until is for grids, not for search: halving");
  const YAML::Node confirmation = root["confirmation_seeds"];
  if (halving && !confirmation) {
    fail(root, "search: halving needs confirmation_seeds: {count: 5, master: 8}, or a list");
  }
  if (!halving && confirmation) fail(confirmation, "confirmation_seeds are for search: halving");
  if (halving) {
    spec_.confirmation_seeds = read_seeds(confirmation, "confirmation_seeds", spec_.seeds);
  }
  return spec_;
}

}  // namespace

StudySpec load_study(const std::string& path, std::span<const std::string> overrides,
                     const config::Schema& schema) {
  return StudyReader(path, schema).read(overrides);
}

}  // namespace impart::study
