#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impart/statistics/time_to_target.h"
#include "impart/study/record.h"

namespace impart::results {

// The results of many runs in one shape, wherever they come from: what a report is made of.

/// Keys of the configuration ("partition.warmup") and what they are set to, as text.
using SettingTexts = std::vector<study::SettingText>;

/// The value of a key; "" if it is not there.
std::string_view setting(const SettingTexts& settings, std::string_view key);

/// One epoch of a run. NaN: not measured in that epoch, or not recorded at all.
struct EpochResult {
  double epoch = 0;    ///< counted from 0
  double step = 0;     ///< optimiser steps at its end, since the start
  double seconds = 0;  ///< at its end, since the start
  double test_loss = 0;
  double test_accuracy = 0;  ///< percent
  double test_perplexity = std::numeric_limits<double>::quiet_NaN();
  double test_bits_per_byte = std::numeric_limits<double>::quiet_NaN();
  bool repartitioned = false;  ///< a heuristic or an exchange moved examples before it
  double mean_class_skew = std::numeric_limits<double>::quiet_NaN();  ///< of the workers
  double mixed =
      std::numeric_limits<double>::quiet_NaN();  ///< share with another owner than at first
  double seen = std::numeric_limits<double>::quiet_NaN();  ///< share that a worker has owned so far
  double dissimilarity = std::numeric_limits<double>::quiet_NaN();  ///< of the workers' gradients
};

/// One finished run.
struct RunResult {
  std::string folder;                      ///< the run directory, or "file.csv:3"
  std::optional<std::uint64_t> seed = {};  ///< absent where results were published without
  study::RunPurpose purpose = study::RunPurpose::kGrid;
  std::string config_hash = {};
  std::map<std::string, double, std::less<>> summary = {};  ///< the numbers of summary.json
  std::vector<EpochResult> epochs = {};
  std::string config = {};  ///< text of config.yaml; empty for published results

  /// A number of the summary; absent if it has none of that name.
  std::optional<double> number(std::string_view name) const;
};

/// The runs of one setting, over seeds.
struct ArmResults {
  std::string name;
  SettingTexts settings = {};  ///< the keys that differ between arms
  std::vector<RunResult> runs = {};
};

/// Arms that may be compared: the same data and the same model. At most one is the baseline.
struct ResultGroup {
  std::string name;
  std::vector<ArmResults> arms = {};
  std::optional<std::size_t> baseline = {};
};

/// A run that no number was taken from.
struct SkippedRun {
  std::string folder;
  std::string reason;
};

/// All that a report is made of, wherever it was read.
struct Results {
  std::string name;
  std::string metric = "best_accuracy";  ///< a number of the summary: what arms are judged by
  std::optional<double> target = {};     ///< of the metric's curve, for "time to target"
  std::vector<ResultGroup> groups = {};
  std::vector<ArmResults> search = {};  ///< runs that served to choose, where others confirm
  std::vector<SkippedRun> skipped = {};
  std::uint32_t looks = 1;  ///< planned, where the study added seeds as results came in
};

/// What overrides the study's own wishes. Empty members leave them as they are.
struct ResultsSpec {
  std::string metric = {};
  std::string baseline = {};  ///< name of an arm
  std::optional<double> target = {};
};

/// Reads one study directory (it has study.json), or run directories and folders of them, with one
/// thread per core. Runs without a study are gathered into arms by the keys of their configuration
/// that differ; the baseline is the vanilla arm (random, interval 1, no exchange) if there is one.
///
/// Runs that are empty, unfinished, failed or corrupt are listed in `skipped`, with the reason.
/// DataError if a folder cannot be read or study.json is not what it should be; ConfigError for a
/// baseline that is not there, or several studies.
Results read_results(std::span<const std::string> folders, const ResultsSpec& spec = {});

/// Reads the CSV file that `impart study --results` keeps: the same tables, without the curves of
/// single epochs. DataError as read_result_table; ConfigError for a baseline that is not there.
Results read_kept_results(const std::string& path, const ResultsSpec& spec = {});

/// Reads results in the layout that the DAIS 2023 paper published: `Baselines/*.csv` and folders
/// `DATASET-MODEL-HEURISTIC-MEASURE` of `W{warmup}-INT{interval}.csv`, one row per run. Its
/// `roundrobin` is stripes, its `steps` blocks. A file that cannot be read is skipped, a row too;
/// DataError if there is nothing to read.
Results read_published_results(const std::string& folder, const ResultsSpec& spec = {});

/// Which way a metric improves: as kStudyMetrics says, else accuracies up and all others down.
statistics::Better better_of(std::string_view metric);

/// The same metric at the other moment: final_accuracy for best_accuracy and the other way round.
/// "" if the name starts with neither.
std::string companion_of(std::string_view metric);

}  // namespace impart::results
