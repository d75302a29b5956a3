#include "impart/results/results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "impart/config/schema.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include "impart/results/result_groups.h"
#include "impart/results/run_results.h"
#include "impart/run/summary.h"
#include "impart/study/result_table.h"

namespace impart::results {
namespace {

namespace fs = std::filesystem;

/// A run that is to be read, and what became of it.
struct Candidate {
  std::string folder;
  std::string wanted_hash = {};
  std::string arm = {};  ///< of a study
  study::RunPurpose purpose = study::RunPurpose::kGrid;
  std::optional<std::uint64_t> seed = {};  ///< as the study has it
  std::optional<RunResult> run = {};
  std::string reason = {};                ///< why there is no run
  std::vector<std::string> numbers = {};  ///< that it has in place of the metric
};

void check_metric(const RunResult& run, const std::string& metric, Candidate& candidate) {
  const auto value = run.number(metric);
  if (!value) {
    for (const auto& [name, number] : run.summary) candidate.numbers.push_back(name);
    throw DataError(fmt::format("it has no number '{}'", metric));
  }
  if (!std::isfinite(*value)) throw DataError(fmt::format("its {} is {}", metric, *value));
}

void read_candidates(std::vector<Candidate>& candidates, const std::string& metric) {
  for_each_in_parallel(candidates.size(), [&](std::size_t i) {
    Candidate& candidate = candidates[i];
    try {
      RunResult run = read_run(candidate.folder, candidate.wanted_hash);
      check_metric(run, metric, candidate);
      run.purpose = candidate.purpose;
      if (candidate.seed) run.seed = candidate.seed;
      candidate.run = std::move(run);
    } catch (const std::exception& error) {
      candidate.reason = error.what();
    }
  });
}

/// ConfigError if a metric was asked for that finished runs do not have, any of them.
void check_wanted_metric(const std::vector<Candidate>& candidates, const std::string& wanted) {
  const Candidate* lacking = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.run) return;
    if (!candidate.numbers.empty()) lacking = &candidate;
  }
  if (wanted.empty() || lacking == nullptr) return;
  const std::vector<std::string_view> numbers(lacking->numbers.begin(), lacking->numbers.end());
  const std::string_view meant = nearest_name(wanted, numbers);
  throw ConfigError(fmt::format(
      "no finished run has the number '{}'{}", wanted,
      meant.empty() ? "; their summary.json lists them, and the first line of a CSV file"
                    : fmt::format(", did you mean '{}'?", meant)));
}

std::vector<SkippedRun> skipped_of(const std::vector<Candidate>& candidates) {
  std::vector<SkippedRun> skipped;
  for (const Candidate& candidate : candidates) {
    if (!candidate.run) skipped.push_back({candidate.folder, candidate.reason});
  }
  return skipped;
}

/// The second run of an arm with one and the same seed is no further evidence.
bool has_seed(const ArmResults& arm, const RunResult& run) {
  return run.seed && std::any_of(arm.runs.begin(), arm.runs.end(),
                                 [&](const RunResult& other) { return other.seed == run.seed; });
}

// ---- studies ----

std::vector<Candidate> runs_of(const study::StudyRecord& study, const std::string& folder) {
  std::vector<Candidate> candidates;
  for (const study::StudyRun& run : study.runs) {
    candidates.push_back({.folder = folder + "/" + run.folder,
                          .wanted_hash = run.config_hash,
                          .arm = run.arm,
                          .purpose = run.purpose,
                          .seed = run.seed});
  }
  return candidates;
}

/// A row of a results file.
Candidate kept_run(const std::string& path, const study::ResultRow& row,
                   const std::string& metric) {
  Candidate candidate{.folder = fmt::format("{}:{}", path, row.line),
                      .arm = row.run.arm,
                      .purpose = row.run.purpose,
                      .seed = row.run.seed};
  RunResult run{.folder = candidate.folder,
                .seed = row.run.seed,
                .purpose = row.run.purpose,
                .config_hash = row.run.config_hash,
                .summary = row.summary.numbers};
  try {
    check_metric(run, metric, candidate);
    candidate.run = std::move(run);
  } catch (const DataError& error) {
    candidate.reason = error.what();
  }
  return candidate;
}

/// Runs go to their arms. Where some confirm, those that searched stand apart.
void deal_runs(std::vector<Candidate>& candidates, std::vector<ArmResults>& arms,
               Results& results) {
  const bool confirmed = std::any_of(candidates.begin(), candidates.end(), [](const auto& run) {
    return run.purpose == study::RunPurpose::kConfirm;
  });
  std::vector<ArmResults> search;
  for (const ArmResults& arm : arms) search.push_back({arm.name, arm.settings, {}});
  for (Candidate& candidate : candidates) {
    if (!candidate.run) continue;
    const auto arm = std::find_if(arms.begin(), arms.end(),
                                  [&](const auto& one) { return one.name == candidate.arm; });
    if (arm == arms.end()) {
      throw DataError(fmt::format("study.json: a run of an unknown arm '{}'", candidate.arm));
    }
    const bool chose = confirmed && candidate.purpose == study::RunPurpose::kSearch;
    ArmResults& owner = chose ? search[static_cast<std::size_t>(arm - arms.begin())] : *arm;
    if (!chose && has_seed(owner, *candidate.run)) {
      candidate.reason = "an earlier run has the same arm and seed";
      candidate.run.reset();
      continue;
    }
    owner.runs.push_back(std::move(*candidate.run));
  }
  const auto has_none = [](const ArmResults& arm) { return arm.runs.empty(); };
  std::erase_if(arms, has_none);
  std::erase_if(search, has_none);
  results.search = std::move(search);
}

/// Reads candidates by what the study is judged by.
using ReadRuns = std::function<std::vector<Candidate>(const std::string& metric)>;

Results results_of_study(const study::StudyRecord& study, const ResultsSpec& spec,
                         const ReadRuns& read_runs) {
  Results results{.name = study.name,
                  .metric = spec.metric.empty() ? study.metric : spec.metric,
                  .target = spec.target ? spec.target : study.target};
  if (study.growing) results.looks = static_cast<std::uint32_t>(study.growing->planned.size());
  std::string baseline = spec.baseline.empty() ? study.baseline.value_or("") : spec.baseline;
  std::vector<ArmResults> arms;
  for (const study::StudyArm& arm : study.arms)
    arms.push_back({.name = arm.name, .settings = arm.settings});
  std::vector<Candidate> candidates = read_runs(results.metric);
  check_wanted_metric(candidates, spec.metric);
  deal_runs(candidates, arms, results);
  results.skipped = skipped_of(candidates);
  const bool has_baseline =
      std::any_of(arms.begin(), arms.end(), [&](const auto& arm) { return arm.name == baseline; });
  // A study's baseline may have no finished run yet; one that was asked for must be there.
  if (!has_baseline && spec.baseline.empty()) baseline.clear();
  results.groups = group_arms(std::move(arms));
  choose_baselines(
      results.groups, [](const ArmResults& arm) { return is_vanilla(arm.settings); }, baseline);
  return results;
}

// ---- runs without a study ----

bool is_report(const fs::path& folder) {
  return fs::exists(folder / "report.html");
}

/// The runs in a folder, or the folder itself if it is one or leads to none.
void find_runs(const std::string& folder, int depth, std::vector<Candidate>& found) {
  std::vector<std::string> inside;
  if (!looks_like_run(folder) && depth > 0) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory() && !is_report(entry.path())) inside.push_back(entry.path().string());
    }
  }
  std::sort(inside.begin(), inside.end());
  for (const std::string& path : inside) find_runs(path, depth - 1, found);
  if (inside.empty()) found.push_back({.folder = folder});
}

/// Keys that do not make a run another experiment.
std::set<std::string> keys_without_effect() {
  std::set<std::string> keys = {"seed"};
  for (const config::ConfigKey& key : config::make_schema()) {
    if (!key.changes_result) keys.insert(key.path());
  }
  return keys;
}

/// For every run its settings for the keys that differ between runs.
std::vector<SettingTexts> differing_settings(const std::vector<SettingTexts>& configs) {
  const std::set<std::string> ignored = keys_without_effect();
  std::vector<std::string> keys;
  std::map<std::string, std::set<std::string>> values;
  for (const SettingTexts& config : configs) {
    for (const auto& [key, value] : config) {
      if (ignored.contains(key)) continue;
      if (values[key].empty()) keys.push_back(key);
      values[key].insert(value);
    }
  }
  for (const SettingTexts& config : configs) {
    if (config.empty()) continue;  // a run that was skipped
    for (const std::string& key : keys) {
      if (std::none_of(config.begin(), config.end(), [&](auto& one) { return one.first == key; })) {
        values[key].insert("");
      }
    }
  }
  std::vector<SettingTexts> differing(configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    for (const std::string& key : keys) {
      if (values[key].size() < 2) continue;
      differing[i].emplace_back(key, setting(configs[i], key));
    }
  }
  return differing;
}

/// Users who gave each setting its own `name` meant it: it becomes the arm's.
void prefer_given_names(std::vector<ArmResults>& arms,
                        const std::vector<std::set<std::string>>& given) {
  std::map<std::string, int> arms_with;
  for (const auto& names : given) {
    for (const std::string& name : names) ++arms_with[name];
  }
  const bool usable = std::all_of(given.begin(), given.end(), [&](const auto& names) {
    return names.size() == 1 && !names.begin()->empty() && arms_with[*names.begin()] == 1;
  });
  for (std::size_t i = 0; usable && arms.size() > 1 && i < arms.size(); ++i) {
    arms[i].name = *given[i].begin();
  }
}

/// What runs are judged by where nobody says it: language models have no accuracy.
std::string default_metric(const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    try {
      const run::SummaryFile summary = run::read_summary(candidate.folder);
      if (summary.number("best_perplexity")) return "best_perplexity";
      if (summary.number("best_accuracy")) break;
    } catch (const DataError&) {  // a run that will be listed as skipped
    }
  }
  return "best_accuracy";
}

Results read_loose_runs(std::span<const std::string> folders, const ResultsSpec& spec) {
  std::vector<Candidate> candidates;
  for (const std::string& folder : folders) find_runs(folder, 3, candidates);
  if (std::none_of(candidates.begin(), candidates.end(),
                   [](const Candidate& each) { return looks_like_run(each.folder); })) {
    throw DataError(folders.front() + ": there is no run in it");
  }
  Results results{.name = fs::path(folders.front()).lexically_normal().filename().string()};
  results.metric = spec.metric.empty() ? default_metric(candidates) : spec.metric;
  results.target = spec.target;
  read_candidates(candidates, results.metric);
  check_wanted_metric(candidates, spec.metric);

  std::vector<SettingTexts> configs(candidates.size());
  for_each_in_parallel(candidates.size(), [&](std::size_t i) {
    Candidate& candidate = candidates[i];
    try {
      if (candidate.run) configs[i] = flatten_config(candidate.run->config);
    } catch (const DataError& error) {
      candidate.reason = error.what();
      candidate.run.reset();
    }
  });
  const std::vector<SettingTexts> differing = differing_settings(configs);
  std::vector<ArmResults> arms;
  std::vector<std::set<std::string>> given;
  std::vector<bool> vanilla;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].run) continue;
    auto arm = std::find_if(arms.begin(), arms.end(),
                            [&](const auto& one) { return one.settings == differing[i]; });
    if (arm == arms.end()) {
      arm = arms.insert(arms.end(), {.name = short_name(differing[i]), .settings = differing[i]});
      given.emplace_back();
      vanilla.push_back(is_vanilla(configs[i]));
    }
    if (has_seed(*arm, *candidates[i].run)) {
      candidates[i].reason = "an earlier run has the same settings and seed";
      candidates[i].run.reset();
      continue;
    }
    const auto index = static_cast<std::size_t>(arm - arms.begin());
    given[index].insert(std::string(setting(configs[i], "name")));
    if (arm->runs.empty() && vanilla[index]) arm->name = "vanilla";
    arm->runs.push_back(std::move(*candidates[i].run));
  }
  results.skipped = skipped_of(candidates);
  prefer_given_names(arms, given);
  make_names_unique(arms);
  std::set<std::string> vanilla_names;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (vanilla[i]) vanilla_names.insert(arms[i].name);
  }
  if (arms.size() == 1 && arms.front().runs.size() == 1) arms.front().name = "this run";
  results.groups = group_arms(std::move(arms));
  choose_baselines(
      results.groups, [&](const ArmResults& arm) { return vanilla_names.contains(arm.name); },
      spec.baseline);
  return results;
}

}  // namespace

std::string_view setting(const SettingTexts& settings, std::string_view key) {
  for (const auto& [name, value] : settings) {
    if (name == key) return value;
  }
  return "";
}

std::optional<double> RunResult::number(std::string_view name) const {
  const auto found = summary.find(name);
  if (found == summary.end()) return std::nullopt;
  return found->second;
}

Results read_results(std::span<const std::string> folders, const ResultsSpec& spec) {
  if (folders.empty()) throw ConfigError("no folder with results was given");
  for (const std::string& folder : folders) {
    if (!fs::exists(folder)) throw DataError(folder + ": there is no such file or folder");
    if (!fs::is_directory(folder)) throw DataError(folder + ": not a folder with runs");
  }
  const auto is_study = [](const std::string& folder) {
    return fs::exists(folder + "/study.json");
  };
  if (std::none_of(folders.begin(), folders.end(), is_study)) return read_loose_runs(folders, spec);
  if (folders.size() > 1) {
    throw ConfigError("a report is about one study, or about run directories: give one of them");
  }
  const std::string& folder = folders.front();
  const study::StudyRecord study = study::read_study(folder);
  return results_of_study(study, spec, [&](const std::string& metric) {
    std::vector<Candidate> candidates = runs_of(study, folder);
    read_candidates(candidates, metric);
    return candidates;
  });
}

Results read_kept_results(const std::string& path, const ResultsSpec& spec) {
  const study::ResultTable table = study::read_result_table(path);
  if (table.rows.empty()) throw DataError(path + ": no results in it yet");
  return results_of_study(table.study, spec, [&](const std::string& metric) {
    std::vector<Candidate> candidates;
    for (const study::ResultRow& row : table.rows) {
      candidates.push_back(kept_run(path, row, metric));
    }
    return candidates;
  });
}

statistics::Better better_of(std::string_view metric) {
  for (const study::StudyMetric& known : study::kStudyMetrics) {
    if (known.name == metric)
      return known.more_is_better ? statistics::Better::kHigher : statistics::Better::kLower;
  }
  return metric.find("accuracy") != std::string_view::npos ? statistics::Better::kHigher
                                                           : statistics::Better::kLower;
}

std::string companion_of(std::string_view metric) {
  if (metric.starts_with("best_")) return "final_" + std::string(metric.substr(5));
  if (metric.starts_with("final_")) return "best_" + std::string(metric.substr(6));
  return "";
}

}  // namespace impart::results
