#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/config/schema.h"

namespace impart::study {

// A study as its user writes it: what all runs have in common, the arms that are compared, and the
// seeds, which are the same for every arm. docs/studies.md explains the file.

/// A key of the configuration ("partition.warmup") and the value it gets.
struct Setting {
  std::string key;
  config::WrittenValue value;
  bool operator==(const Setting&) const = default;
};
using Settings = std::vector<Setting>;

/// An arm that the study's file names.
struct NamedArm {
  std::string name;
  bool is_baseline = false;
  Settings settings;
};

/// A key and the values it takes in turn.
struct GridAxis {
  std::string key;
  std::vector<config::WrittenValue> values;
};
/// All combinations of the values of its axes.
using Grid = std::vector<GridAxis>;

/// Combinations to leave out: those whose value of every one of the keys is among those listed.
struct Exclusion {
  std::string where;  ///< "study.yaml:12:5", for messages
  Grid keys;
};

/// Which runs a study makes of its arms.
struct SearchSpec {
  enum class Kind {
    kGrid,     ///< every arm with every seed
    kHalving,  ///< successive halving over epochs, then confirmation of the winner
  };
  Kind kind = Kind::kGrid;
  std::uint32_t eta = 3;         ///< one of so many arms stays, and trains so many times longer
  std::uint32_t min_epochs = 1;  ///< of the first rung
};

/// Seeds that are added until the differences to the baseline are known well enough.
struct GrowingSeeds {
  double until = 0;  ///< half-width of every arm's paired interval, in units of the metric
  std::uint64_t at_least = 0;  ///< seeds of the first look
};

/// What a study's file says.
struct StudySpec {
  std::string name;
  config::RunConfig config;  ///< of all runs, before the arms' settings; not yet validated
  std::vector<NamedArm> arms;
  std::vector<Grid> grids;
  std::vector<Exclusion> exclusions;
  bool skip_invalid = false;         ///< leave out combinations that contradict themselves
  std::vector<std::uint64_t> seeds;  ///< all that it may come to, where they grow
  std::optional<GrowingSeeds> growing;
  std::vector<std::uint64_t> confirmation_seeds;
  std::string metric;  ///< row of kStudyMetrics; empty: best_accuracy
  std::optional<double> target;
  std::uint32_t jobs = 0;  ///< runs at a time; 0: half of the cores
  std::string output;      ///< the study's directory
  SearchSpec search;
};

/// Reads a study's file; `overrides` ("epochs=2") change what all runs have in common, and `name`
/// and `output` of the study. ConfigError says where ("study.yaml:12:3"), what was found and what
/// is allowed. Every value is checked against the schema, not yet whether they fit together.
StudySpec load_study(const std::string& path, std::span<const std::string> overrides,
                     const config::Schema& schema);

/// `count` different seeds from 1 to 999 999, none of them in `taken`: a function of `master`.
/// ConfigError for more than 10 000.
std::vector<std::uint64_t> derive_seeds(std::uint64_t master, std::size_t count,
                                        std::span<const std::uint64_t> taken);

/// The numbers from `from` to `to`, as text: whole ones if all three are, otherwise rounded to 12
/// digits, so that 0.1 + 0.2 is 0.3. ConfigError if there are none, or more than 10 000.
std::vector<std::string> numbers_between(const std::string& from, const std::string& to,
                                         const std::string& step);

}  // namespace impart::study
