#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/study/record.h"
#include "impart/study/spec.h"

namespace impart::study {

// From what a study's file says to its arms: configurations with names.

/// One arm of a study.
struct PlannedArm {
  std::string name;          ///< unique
  std::string slug;          ///< unique; only a-z, 0-9 and -, for folders
  config::RunConfig config;  ///< valid, but for its seed and output
};

/// All combinations, in the order of the file: the last key changes first. ConfigError for more
/// than 100 000.
std::vector<Settings> expand_grid(const Grid& grid);

/// "stripes warmup=10 interval=5": the values in which the configs differ, as short as they stay
/// unique; different from all `taken`.
std::vector<std::string> name_by_difference(std::span<const config::RunConfig> configs,
                                            std::span<const Settings> settings,
                                            std::span<const std::string> taken,
                                            const config::Schema& schema);

/// Letters and digits of each name, lower-case, with single hyphens between them; numbered where
/// that makes two equal. At most 60 characters.
std::vector<std::string> make_slugs(std::span<const std::string> names);

/// A value as text: lists as "[a, b]".
std::string setting_text(const config::ConfigKey& key, const config::RunConfig& config);

/// Keys that change the result and in which the configs differ.
std::vector<const config::ConfigKey*> differing_keys(std::span<const config::RunConfig> configs,
                                                     const config::Schema& schema);

/// The arms of a study.
struct ArmPlan {
  std::vector<PlannedArm> arms;      ///< the named ones first
  std::vector<std::string> skipped;  ///< "name: reason" of contradictory combinations left out
};

/// All arms of a study. ConfigError lists every combination that contradicts itself (unless they
/// are to be skipped), names two arms that are the same experiment, and exclusions without effect.
ArmPlan plan_arms(const StudySpec& spec, const config::Schema& schema);

}  // namespace impart::study
