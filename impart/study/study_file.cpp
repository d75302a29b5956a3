// Reads study.yaml.

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/study/config_file.h"
#include "impart/study/config_keys.h"
#include "impart/study/study_record.h"
#include "impart/study/study_spec.h"
#include "impart/study/yaml_file.h"

namespace impart {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 14> kStudyKeys = {
    "name",         "base",   "config",
    "arms",         "grid",   "exclude",
    "skip_invalid", "seeds",  "confirmation_seeds",
    "metric",       "target", "jobs",
    "output",       "search"};
constexpr std::array<std::string_view, 2> kSeedKeys = {"count", "master"};
constexpr std::array<std::string_view, 3> kRangeKeys = {"from", "to", "step"};
constexpr std::array<std::string_view, 3> kSearchKeys = {"kind", "eta", "min_epochs"};
constexpr std::string_view kNamePlaceholder = "{name}";

using VisitKey = std::function<void(const ConfigKey&, const YAML::Node&)>;

class StudyReader {
 public:
  StudyReader(const std::string& path, const Schema& schema) : path_(path), schema_(schema) {}

  StudySpec read(std::span<const std::string> overrides);

 private:
  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    fail_at(path_, node.Mark(), what);
  }
  template <class Call>
  auto at(const YAML::Node& node, std::string_view key, const Call& call) const;
  template <class T>
  T value(const YAML::Node& node, std::string_view key, const ValueRule<T>& rule) const;

  void check_map(const YAML::Node& map, std::string_view what,
                 std::span<const std::string_view> allowed) const;
  void visit_keys(const YAML::Node& map, const VisitKey& visit, bool in_arm = false) const;
  void visit_key(const std::string& path, const YAML::Node& name, const YAML::Node& node,
                 const VisitKey& visit) const;
  WrittenValue checked(const ConfigKey& key, const WrittenValue& written,
                       const YAML::Node& node) const;

  void read_common(const YAML::Node& root, std::span<const std::string> overrides);
  void read_arms(const YAML::Node& arms);
  Settings read_settings(const YAML::Node& map) const;
  Grid read_grid(const YAML::Node& map) const;
  std::vector<WrittenValue> read_values(const ConfigKey& key, const YAML::Node& node) const;
  void read_exclusions(const YAML::Node& list);
  std::vector<std::uint64_t> read_seeds(const YAML::Node& node, std::string_view key,
                                        std::span<const std::uint64_t> taken) const;
  void read_search(const YAML::Node& node);
  void read_search_options(const YAML::Node& map);
  void read_output();
  void check_overrides(std::span<const std::string> overrides) const;

  const std::string& path_;
  const Schema& schema_;
  StudySpec spec_;
};

template <class Call>
auto StudyReader::at(const YAML::Node& node, std::string_view key, const Call& call) const {
  try {
    return call();
  } catch (const ConfigError& error) {
    fail(node, fmt::format("{}: {}", key, error.what()));
  }
}

template <class T>
T StudyReader::value(const YAML::Node& node, std::string_view key, const ValueRule<T>& rule) const {
  if (!node.IsScalar()) {
    fail(node, fmt::format("{}: expected one value; allowed: {}", key, rule.allowed));
  }
  return at(node, key, [&] { return rule.read({node.Scalar()}); });
}

void StudyReader::check_map(const YAML::Node& map, std::string_view what,
                            std::span<const std::string_view> allowed) const {
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) fail(entry.first, "a key must be a word");
    const std::string& name = entry.first.Scalar();
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      fail(entry.first, describe_unknown_name(what, name, allowed));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      fail(entry.first, fmt::format("key '{}' is there twice", name));
    }
    if (entry.second.IsNull()) fail(entry.first, name + " has no value");
    seen.push_back(name);
  }
}

/// Calls `visit` for every key of the configuration in the map. Keys may be nested as in a run's
/// file, or written with a dot.
void StudyReader::visit_keys(const YAML::Node& map, const VisitKey& visit, bool in_arm) const {
  if (!map.IsMap()) fail(map, "expected keys of the configuration, as in 'partition.warmup: 5'");
  std::vector<std::string> seen;
  const VisitKey visit_once = [&](const ConfigKey& key, const YAML::Node& node) {
    if (std::find(seen.begin(), seen.end(), key.path()) != seen.end()) {
      fail(node, fmt::format("key '{}' is there twice", key.path()));
    }
    seen.push_back(key.path());
    visit(key, node);
  };
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) fail(entry.first, "a key must be a word");
    const std::string& name = entry.first.Scalar();
    if (in_arm && name == "baseline") continue;
    if (!is_section(schema_, name) || !entry.second.IsMap()) {
      visit_key(name, entry.first, entry.second, visit_once);
      continue;
    }
    for (const auto& inner : entry.second) {
      if (!inner.first.IsScalar()) fail(inner.first, "a key must be a word");
      visit_key(name + "." + inner.first.Scalar(), inner.first, inner.second, visit_once);
    }
  }
}

void StudyReader::visit_key(const std::string& path, const YAML::Node& name, const YAML::Node& node,
                            const VisitKey& visit) const {
  if (path == "seed") fail(name, "a study's seeds stand in 'seeds', the same for every arm");
  if (path == "name" || path == "output") {
    fail(name, fmt::format("{} belongs to the study, at the top of its file", path));
  }
  const ConfigKey* key = nullptr;
  try {
    key = &key_at(schema_, path);
  } catch (const ConfigError& error) {
    fail(name, error.what());
  }
  if (node.IsNull()) fail(name, path + " has no value");
  visit(*key, node);
}

/// The value as a configuration writes it: "0.50" becomes "0.5".
WrittenValue StudyReader::checked(const ConfigKey& key, const WrittenValue& written,
                                  const YAML::Node& node) const {
  return at(node, key.path(), [&] {
    RunConfig scratch;
    key.set(scratch, written);
    return key.get(scratch);
  });
}

void StudyReader::read_common(const YAML::Node& root, std::span<const std::string> overrides) {
  if (const YAML::Node base = root["base"]) {
    const fs::path path = fs::path(path_).parent_path() / value(base, "base", text());
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      fail(base, fmt::format("base: there is no file {}", path.string()));
    }
    read_config_file(path.string(), schema_, spec_.config);
  }
  if (const YAML::Node config = root["config"]) {
    visit_keys(config, [&](const ConfigKey& key, const YAML::Node& node) {
      set_key(path_, node, key, spec_.config);
    });
  }
  spec_.config.name =
      root["name"] ? value(root["name"], "name", text()) : fs::path(path_).stem().string();
  spec_.config.output = root["output"] ? value(root["output"], "output", text()) : "studies/{name}";
  for (const std::string& text : overrides) {
    try {
      apply_override(schema_, text, spec_.config);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("override '{}': {}", text, error.what()));
    }
  }
}

void StudyReader::read_arms(const YAML::Node& arms) {
  if (!arms.IsMap()) fail(arms, "arms: expected names, each with its settings");
  bool has_baseline = false;
  for (const auto& entry : arms) {
    NamedArm arm{.name = value(entry.first, "the name of an arm", text()), .settings = {}};
    if (arm.name.empty()) fail(entry.first, "the name of an arm is empty");
    const bool is_new = std::none_of(spec_.arms.begin(), spec_.arms.end(),
                                     [&](const NamedArm& other) { return other.name == arm.name; });
    if (!is_new) fail(entry.first, fmt::format("arm '{}' is there twice", arm.name));
    if (!entry.second.IsNull()) {
      arm.settings = read_settings(entry.second);
      const YAML::Node mark = entry.second["baseline"];
      arm.is_baseline = mark && value(mark, "baseline", flag());
    }
    if (arm.is_baseline && has_baseline) fail(entry.first, "a second baseline; only one arm is it");
    has_baseline = has_baseline || arm.is_baseline;
    spec_.arms.push_back(std::move(arm));
  }
}

Settings StudyReader::read_settings(const YAML::Node& map) const {
  Settings settings;
  visit_keys(
      map,
      [&](const ConfigKey& key, const YAML::Node& node) {
        settings.push_back({key.path(), checked(key, written_value(path_, node, key), node)});
      },
      true);
  return settings;
}

Grid StudyReader::read_grid(const YAML::Node& map) const {
  Grid grid;
  visit_keys(map, [&](const ConfigKey& key, const YAML::Node& node) {
    grid.push_back({key.path(), read_values(key, node)});
  });
  return grid;
}

/// One value, a list of them, or a range {from, to, step}.
std::vector<WrittenValue> StudyReader::read_values(const ConfigKey& key,
                                                   const YAML::Node& node) const {
  std::vector<WrittenValue> values;
  const auto add = [&](const WrittenValue& written, const YAML::Node& from) {
    const WrittenValue value = checked(key, written, from);
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      fail(from, fmt::format("{}: the same value twice", key.path()));
    }
    values.push_back(value);
  };
  if (node.IsMap()) {
    check_map(node, "key of a range", kRangeKeys);
    const auto part = [&](const char* name) {
      if (!node[name])
        fail(node, fmt::format("{}: expected {{from: …, to: …, step: …}}", key.path()));
      return value(node[name], name, text());
    };
    const auto numbers = at(node, key.path(), [&] {
      return numbers_between(part("from"), part("to"), node["step"] ? part("step") : "1");
    });
    for (const std::string& number : numbers) add({number}, node);
  } else if (node.IsSequence()) {
    for (const auto& item : node) add(written_value(path_, item, key), item);
  } else {
    add(written_value(path_, node, key), node);
  }
  if (values.empty()) fail(node, fmt::format("{}: the list is empty", key.path()));
  return values;
}

void StudyReader::read_exclusions(const YAML::Node& list) {
  if (!list.IsSequence()) fail(list, "exclude: expected a list of settings");
  for (const auto& item : list) {
    const YAML::Mark mark = item.Mark();
    spec_.exclusions.push_back(
        {.where = fmt::format("{}:{}:{}", path_, mark.line + 1, mark.column + 1),
         .keys = read_grid(item)});
    if (spec_.exclusions.back().keys.empty()) fail(item, "exclude: this would exclude everything");
  }
}

std::vector<std::uint64_t> StudyReader::read_seeds(const YAML::Node& node, std::string_view key,
                                                   std::span<const std::uint64_t> taken) const {
  const auto rule = whole<std::uint64_t>(0);
  if (node.IsMap()) {
    check_map(node, fmt::format("key in {}", key), kSeedKeys);
    if (!node["count"]) fail(node, fmt::format("{}: expected {{count: 10, master: 7}}", key));
    const auto count = value(node["count"], "count", whole<std::uint64_t>(1));
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

void StudyReader::read_search(const YAML::Node& node) {
  using Kind = SearchSpec::Kind;
  const auto rule = choice<Kind>("search", {{"grid", Kind::kGrid}, {"halving", Kind::kHalving}});
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
  if (map["eta"]) spec_.search.eta = value(map["eta"], "search.eta", whole(2u, 1000u));
  if (map["min_epochs"]) {
    spec_.search.min_epochs = value(map["min_epochs"], "search.min_epochs", whole(1u));
  }
}

void StudyReader::read_output() {
  RunConfig& config = spec_.config;
  spec_.name = config.name;
  if (spec_.name.empty() || spec_.name.find_first_of("/{}") != std::string::npos) {
    throw ConfigError(
        fmt::format("{}: name: '{}' is empty or has one of / {{ }}; it becomes a part of a path",
                    path_, spec_.name));
  }
  spec_.output = config.output;
  const std::size_t placeholder = spec_.output.find(kNamePlaceholder);
  if (placeholder != std::string::npos) {
    spec_.output.replace(placeholder, kNamePlaceholder.size(), spec_.name);
  }
  if (spec_.output.empty() || spec_.output.find_first_of("{}") != std::string::npos) {
    throw ConfigError(fmt::format("{}: output: '{}' is no directory; allowed placeholder: {{name}}",
                                  path_, config.output));
  }
}

/// An override of a key that arms set would change what they are, without their names showing it.
void StudyReader::check_overrides(std::span<const std::string> overrides) const {
  for (const std::string& text : overrides) {
    const std::string key = overridden_key(schema_, text).path();
    const auto sets_it = [&](const auto& settings) {
      return std::any_of(settings.begin(), settings.end(),
                         [&](const auto& setting) { return setting.key == key; });
    };
    const bool in_arm = std::any_of(spec_.arms.begin(), spec_.arms.end(),
                                    [&](const NamedArm& arm) { return sets_it(arm.settings); });
    if (in_arm || std::any_of(spec_.grids.begin(), spec_.grids.end(), sets_it)) {
      throw ConfigError(
          fmt::format("override '{}': the arms of {} say what {} is", text, path_, key));
    }
    if (key == "seed") throw ConfigError(fmt::format("override '{}': a study has seeds", text));
  }
}

StudySpec StudyReader::read(std::span<const std::string> overrides) {
  const YAML::Node root = parse_yaml(path_);
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
    spec_.skip_invalid = value(root["skip_invalid"], "skip_invalid", flag());
  if (!root["seeds"]) fail(root, "seeds are missing: a list, or {count: 10, master: 7}");
  spec_.seeds = read_seeds(root["seeds"], "seeds", {});
  if (const YAML::Node metric = root["metric"]) {
    spec_.metric = value(metric, "metric", name_of("metric", names_of(kStudyMetrics)));
  }
  constexpr double kAnything = std::numeric_limits<double>::lowest();
  if (root["target"]) spec_.target = value(root["target"], "target", number({.least = kAnything}));
  if (root["jobs"]) spec_.jobs = value(root["jobs"], "jobs", whole(1u, 4096u));
  if (root["search"]) read_search(root["search"]);
  const bool halving = spec_.search.kind == SearchSpec::Kind::kHalving;
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
                     const Schema& schema) {
  return StudyReader(path, schema).read(overrides);
}

}  // namespace impart
