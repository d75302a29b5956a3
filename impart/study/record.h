#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impart/core/named_table.h"

namespace impart::study {

// What a study is, as study.json in its directory says it: which arms there are and which runs they
// need. Whoever continues a study, shows it or reports it works from this.

/// A number of summary.json by which arms are compared.
struct StudyMetric {
  std::string_view name;
  std::string_view summary;
  bool more_is_better;
};

inline constexpr StudyMetric kStudyMetrics[] = {
    {"best_accuracy", "percent, of the best epoch", true},
    {"final_accuracy", "percent, of the last epoch", true},
    {"best_perplexity", "of the best epoch", false},
    {"final_perplexity", "of the last epoch", false},
    {"best_bits_per_byte", "of the best epoch", false},
    {"final_bits_per_byte", "of the last epoch", false},
    {"seconds_total", "time of the run", false},
    {"seconds_train", "time of training alone", false},
    {"examples_moved", "examples that changed their worker", false},
    {"bytes_disk", "bytes read from disk", false},
    {"bytes_source", "bytes read from the data set's files or server", false},
    {"bytes_peers", "bytes from the caches of other processes", false},
    {"bytes_network", "bytes sent over the network", false},
};
static_assert(names_are_unique(kStudyMetrics));

/// Key and value as they are written in a configuration; lists as "[a, b]".
using SettingText = std::pair<std::string, std::string>;

/// An arm, as study.json records it.
struct StudyArm {
  std::string name;
  std::vector<SettingText> settings;  ///< the keys that differ between the arms
};

enum class RunPurpose {
  kGrid,     ///< one of arms x seeds
  kSearch,   ///< a short run that chooses; its result says nothing about the choice itself
  kConfirm,  ///< a run of the winner or the baseline on a seed that was not used for choosing
};

/// A run of a study.
struct StudyRun {
  std::string arm;
  std::uint64_t seed = 0;
  std::string folder;  ///< its run directory, relative to that of the study
  std::string config_hash;
  RunPurpose purpose = RunPurpose::kGrid;
  std::uint32_t epochs = 0;
  bool operator==(const StudyRun&) const = default;
};

/// One round of successive halving.
struct SearchRung {
  std::uint32_t epochs = 0;
  std::vector<std::string> arms;
  std::vector<std::string> kept;  ///< best first; empty while the rung is not finished
};

/// How far a search is.
struct StudySearch {
  std::uint32_t eta = 0;
  std::uint32_t min_epochs = 0;
  std::vector<SearchRung> rungs;  ///< those that have begun
  std::optional<std::string> winner;
};

/// What a planned look at the results so far found.
struct SeedLook {
  std::uint64_t seeds = 0;
  std::string arm;                   ///< whose interval was the widest
  std::optional<double> half_width;  ///< of that interval; absent if no arm has one
  bool operator==(const SeedLook&) const = default;
};

/// A plan to add seeds until every arm's paired interval is narrow enough.
struct SeedPlan {
  double until = 0;                    ///< half-width
  std::vector<std::uint64_t> planned;  ///< numbers of seeds after which to look
  std::vector<SeedLook> taken;         ///< the looks so far

  /// Whether the last look ended the study: narrow enough, no arm to wait for, or no further look.
  bool is_settled() const;
  bool is_narrow_enough() const;
};

/// study.json.
struct StudyRecord {
  std::string name;
  std::optional<std::string> baseline;
  std::string metric = "best_accuracy";  ///< row of kStudyMetrics
  std::optional<double> target;
  std::vector<std::uint64_t> seeds;  ///< those that have begun, where they grow
  std::vector<std::uint64_t> confirmation_seeds;
  std::vector<StudyArm> arms;
  /// In the order in which they start. A search learns of its later runs from the earlier ones.
  std::vector<StudyRun> runs;
  std::optional<StudySearch> search;     ///< empty for a full grid
  std::optional<SeedPlan> growing = {};  ///< empty where all seeds are known beforehand
};

/// Writes directory/study.json, complete or not at all. IoError.
void write_study(const std::string& directory, const StudyRecord& record);

/// DataError names the file and what is wrong with it.
StudyRecord read_study(const std::string& directory);

std::string_view purpose_name(RunPurpose purpose);
/// DataError if there is none of that name.
RunPurpose purpose_of(std::string_view name);

}  // namespace impart::study
