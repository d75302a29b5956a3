#include "impart/study/arms.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/config_file.h"
#include "impart/config/config_keys.h"
#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/study/halving.h"

namespace impart::study {
namespace {

constexpr std::size_t kMostCombinations = 100'000;
constexpr std::size_t kMostListed = 20;

void apply(const Settings& settings, const config::Schema& schema, config::RunConfig& config) {
  for (const Setting& setting : settings)
    config::key_at(schema, setting.key).set(config, setting.value);
}

/// The combinations of all grids with their configurations.
struct Combinations {
  std::vector<Settings> settings;
  std::vector<config::RunConfig> configs;
};

bool matches(const Exclusion& exclusion, const config::RunConfig& config,
             const config::Schema& schema) {
  return std::all_of(exclusion.keys.begin(), exclusion.keys.end(), [&](const GridAxis& axis) {
    const config::WrittenValue value = config::key_at(schema, axis.key).get(config);
    return std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end();
  });
}

Combinations combine(const StudySpec& spec, const config::Schema& schema) {
  Combinations kept;
  std::set<const Exclusion*> used;
  for (const Grid& grid : spec.grids) {
    for (const Settings& settings : expand_grid(grid)) {
      config::RunConfig config = spec.config;
      apply(settings, schema, config);
      bool excluded = false;
      for (const Exclusion& exclusion : spec.exclusions) {
        if (!matches(exclusion, config, schema)) continue;
        used.insert(&exclusion);
        excluded = true;
      }
      if (excluded) continue;
      kept.settings.push_back(settings);
      kept.configs.push_back(config);
    }
  }
  for (const Exclusion& exclusion : spec.exclusions) {
    if (!used.contains(&exclusion)) {
      throw ConfigError(
          fmt::format("{}: exclude: no combination of the grid has these values", exclusion.where));
    }
  }
  return kept;
}

/// The lengths an arm is trained for: all rungs of a search, unless it is the baseline, and in
/// full.
std::vector<std::uint32_t> lengths_of(const StudySpec& spec, const PlannedArm& arm) {
  const bool is_baseline = std::any_of(
      spec.arms.begin(), spec.arms.end(),
      [&](const NamedArm& named) { return named.is_baseline && named.name == arm.name; });
  if (spec.search.kind == SearchSpec::Kind::kGrid || is_baseline) return {arm.config.epochs};
  auto lengths = rung_epochs(spec.search, arm.config.epochs);
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

std::string why_invalid(const StudySpec& spec, const PlannedArm& arm) {
  config::RunConfig config = arm.config;
  config.seed = spec.seeds.front();
  config.name = config.output = "arm";
  for (const std::uint32_t epochs : lengths_of(spec, arm)) {
    config.epochs = epochs;
    try {
      config::validate(config);
    } catch (const ConfigError& error) {
      const bool in_full = epochs == arm.config.epochs;
      return in_full ? error.what()
                     : fmt::format("{} (in the rung of {} epochs)", error.what(), epochs);
    }
  }
  return "";
}

void check_valid(const StudySpec& spec, ArmPlan& plan) {
  std::vector<PlannedArm> valid;
  for (PlannedArm& arm : plan.arms) {
    const std::string reason = why_invalid(spec, arm);
    if (reason.empty()) {
      valid.push_back(std::move(arm));
    } else {
      plan.skipped.push_back(fmt::format("{}: {}", arm.name, reason));
    }
  }
  plan.arms = std::move(valid);
  if (plan.skipped.empty() || spec.skip_invalid) return;
  const std::size_t listed = std::min(plan.skipped.size(), kMostListed);
  const std::span<const std::string> shown(plan.skipped.data(), listed);
  const std::size_t more = plan.skipped.size() - listed;
  throw ConfigError(fmt::format(
      "{} arms contradict themselves (exclude them, or say skip_invalid: true):\n  {}{}",
      plan.skipped.size(), fmt::join(shown, "\n  "),
      more == 0 ? "" : fmt::format("\n  … and {} more", more)));
}

void check_different(const std::vector<PlannedArm>& arms) {
  std::map<std::string, std::string> name_of_hash;
  for (const PlannedArm& arm : arms) {
    const auto [found, is_new] = name_of_hash.emplace(config::config_hash(arm.config), arm.name);
    if (!is_new) {
      throw ConfigError(
          fmt::format("arms '{}' and '{}' are the same experiment: no setting that "
                      "changes the result differs",
                      found->second, arm.name));
    }
  }
}

void check_baseline(const StudySpec& spec, const std::vector<PlannedArm>& arms) {
  for (const NamedArm& named : spec.arms) {
    const auto is_it = [&](const PlannedArm& arm) { return arm.name == named.name; };
    if (named.is_baseline && std::none_of(arms.begin(), arms.end(), is_it)) {
      throw ConfigError(
          fmt::format("the baseline '{}' contradicts itself and cannot be skipped", named.name));
    }
  }
}

}  // namespace

std::vector<Settings> expand_grid(const Grid& grid) {
  std::vector<Settings> combinations = {{}};
  for (const GridAxis& axis : grid) {
    if (combinations.size() * axis.values.size() > kMostCombinations) {
      throw ConfigError(fmt::format("the grid has more than {} combinations", kMostCombinations));
    }
    std::vector<Settings> longer;
    for (const Settings& start : combinations) {
      for (const config::WrittenValue& value : axis.values) {
        longer.push_back(start);
        longer.back().push_back({axis.key, value});
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

std::string setting_text(const config::ConfigKey& key, const config::RunConfig& config) {
  const config::WrittenValue value = key.get(config);
  return key.is_list ? fmt::format("[{}]", fmt::join(value, ", ")) : value.front();
}

std::vector<const config::ConfigKey*> differing_keys(std::span<const config::RunConfig> configs,
                                                     const config::Schema& schema) {
  std::vector<const config::ConfigKey*> keys;
  for (const config::ConfigKey& key : schema) {
    const bool differs =
        key.changes_result && std::any_of(configs.begin(), configs.end(), [&](const auto& config) {
          return key.get(config) != key.get(configs.front());
        });
    if (differs) keys.push_back(&key);
  }
  return keys;
}

ArmPlan plan_arms(const StudySpec& spec, const config::Schema& schema) {
  ArmPlan plan;
  std::vector<std::string> names;
  for (const NamedArm& arm : spec.arms) {
    plan.arms.push_back({.name = arm.name, .slug = "", .config = spec.config});
    apply(arm.settings, schema, plan.arms.back().config);
    names.push_back(arm.name);
  }
  const Combinations grid = combine(spec, schema);
  const auto automatic = name_by_difference(grid.configs, grid.settings, names, schema);
  for (std::size_t i = 0; i < automatic.size(); ++i) {
    plan.arms.push_back({.name = automatic[i], .slug = "", .config = grid.configs[i]});
    names.push_back(automatic[i]);
  }
  const auto slugs = make_slugs(names);
  for (std::size_t i = 0; i < plan.arms.size(); ++i) plan.arms[i].slug = slugs[i];
  check_valid(spec, plan);
  if (plan.arms.empty()) throw ConfigError("the study has no arms: give it 'arms' or a 'grid'");
  check_baseline(spec, plan.arms);
  check_different(plan.arms);
  return plan;
}

}  // namespace impart::study
