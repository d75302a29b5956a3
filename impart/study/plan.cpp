#include "impart/study/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/statistics/looks.h"
#include "impart/study/halving.h"

namespace impart::study {
namespace {

const PlannedArm& arm_of(const StudyPlan& plan, const std::string& name) {
  const auto found = std::find_if(plan.arms.begin(), plan.arms.end(),
                                  [&](const PlannedArm& arm) { return arm.name == name; });
  if (found == plan.arms.end()) throw Error(fmt::format("the study has no arm '{}'", name));
  return *found;
}

StudyRun make_run(const StudyPlan& plan, const PlannedArm& arm, std::uint64_t seed,
                  RunPurpose purpose, std::uint32_t epochs) {
  const bool is_search = purpose == RunPurpose::kSearch;
  const std::string rung = is_search ? fmt::format("search-{}/", epochs) : "";
  StudyRun run{.arm = arm.name,
               .seed = seed,
               .folder = fmt::format("runs/{}/{}{}", arm.slug, rung, seed),
               .config_hash = "",
               .purpose = purpose,
               .epochs = epochs};
  run.config_hash = config::config_hash(config_of(plan, run));
  return run;
}

void add_seed(const StudyPlan& plan, std::uint64_t seed, StudyRecord& record) {
  for (const PlannedArm& arm : plan.arms) {
    record.runs.push_back(make_run(plan, arm, seed, RunPurpose::kGrid, arm.config.epochs));
  }
}

void add_grid(const StudyPlan& plan, StudyRecord& record) {
  for (const std::uint64_t seed : record.seeds) add_seed(plan, seed, record);
}

/// A grid whose seeds grow from look to look, until one settles the study or has to wait for runs.
class GrowingGrid {
 public:
  GrowingGrid(const StudyPlan& plan, const ResultOf& result_of, StudyRecord& record)
      : plan_(plan), result_of_(result_of), record_(record) {
    record_.seeds.clear();
    baseline_.name = *record_.baseline;
    for (const StudyArm& arm : record_.arms) {
      if (arm.name != record_.baseline) others_.push_back({.name = arm.name, .values = {}});
    }
  }

  void unfold() {
    SeedPlan& growing = *record_.growing;
    for (const std::uint64_t count : growing.planned) {
      if (!grow_to(count)) return;
      growing.taken.push_back(look());
      if (growing.is_settled()) return;
    }
  }

 private:
  /// Whether all runs of the new seeds are settled.
  bool grow_to(std::uint64_t count) {
    bool settled = true;
    while (record_.seeds.size() < count) {
      const std::size_t first = record_.runs.size();
      record_.seeds.push_back(plan_.record.seeds[record_.seeds.size()]);
      add_seed(plan_, record_.seeds.back(), record_);
      for (std::size_t i = first; i < record_.runs.size(); ++i) {
        const Finding finding = result_of_(record_.runs[i]);
        settled = settled && finding.is_settled;
        if (finding.value) keep(record_.runs[i], *finding.value);
      }
    }
    return settled;
  }

  void keep(const StudyRun& run, double value) {
    const auto arm = std::find_if(others_.begin(), others_.end(),
                                  [&](const auto& other) { return other.name == run.arm; });
    statistics::ArmRuns& runs = arm == others_.end() ? baseline_ : *arm;
    runs.values.push_back(value);
    runs.seeds.push_back(run.seed);
  }

  SeedLook look() const {
    const auto looks = static_cast<std::uint32_t>(record_.growing->planned.size());
    const auto widest = statistics::widest_interval(baseline_, others_, {.looks = looks});
    if (!widest) return {.seeds = record_.seeds.size(), .arm = {}, .half_width = {}};
    return {.seeds = record_.seeds.size(), .arm = widest->arm, .half_width = widest->half_width};
  }

  const StudyPlan& plan_;
  const ResultOf& result_of_;
  StudyRecord& record_;
  statistics::ArmRuns baseline_;
  std::vector<statistics::ArmRuns> others_;
};

/// Adds the runs of a rung; the candidates' means once all of them are settled, empty before.
std::vector<CandidateScore> add_rung(const StudyPlan& plan, const SearchRung& rung,
                                     const ResultOf& result_of, StudyRecord& record) {
  std::vector<double> sums(rung.arms.size(), 0.0);
  std::vector<std::size_t> counts(rung.arms.size(), 0);
  bool settled = true;
  for (const std::uint64_t seed : record.seeds) {
    for (std::size_t i = 0; i < rung.arms.size(); ++i) {
      const PlannedArm& arm = arm_of(plan, rung.arms[i]);
      record.runs.push_back(make_run(plan, arm, seed, RunPurpose::kSearch, rung.epochs));
      const Finding result = result_of(record.runs.back());
      settled = settled && result.is_settled;
      if (!result.value) continue;
      sums[i] += *result.value;
      ++counts[i];
    }
  }
  std::vector<CandidateScore> scores;
  for (std::size_t i = 0; settled && i < rung.arms.size(); ++i) {
    // A mean over fewer seeds is not comparable: a candidate that failed once is out.
    const bool whole = counts[i] == record.seeds.size();
    scores.push_back(
        {.arm = rung.arms[i],
         .mean = whole ? std::optional(sums[i] / static_cast<double>(counts[i])) : std::nullopt});
  }
  return scores;
}

/// Adds rungs until one candidate is left, or one of them is not finished.
void add_search(const StudyPlan& plan, const ResultOf& result_of, StudyRecord& record) {
  StudySearch& search = record.search.emplace(StudySearch{
      .eta = plan.search.eta, .min_epochs = plan.search.min_epochs, .rungs = {}, .winner = {}});
  std::vector<std::string> candidates;
  for (const PlannedArm& arm : plan.arms) {
    if (arm.name != record.baseline) candidates.push_back(arm.name);
  }
  const bool more_is_better = find_entry(kStudyMetrics, "metric", record.metric).more_is_better;
  const std::uint32_t full = arm_of(plan, candidates.front()).config.epochs;
  for (const std::uint32_t epochs : rung_epochs(plan.search, full)) {
    if (candidates.size() < 2) break;
    SearchRung& rung =
        search.rungs.emplace_back(SearchRung{.epochs = epochs, .arms = candidates, .kept = {}});
    const auto scores = add_rung(plan, rung, result_of, record);
    if (scores.empty()) return;
    const std::size_t share = (candidates.size() + search.eta - 1) / search.eta;
    rung.kept = keep_best(scores, epochs == full ? 1 : share, more_is_better);
    candidates = rung.kept;
  }
  if (!candidates.empty()) search.winner = candidates.front();
}

void add_confirmation(const StudyPlan& plan, StudyRecord& record) {
  if (!record.search->winner) return;
  for (const std::uint64_t seed : record.confirmation_seeds) {
    for (const PlannedArm& arm : plan.arms) {
      if (arm.name != record.baseline && arm.name != *record.search->winner) continue;
      record.runs.push_back(make_run(plan, arm, seed, RunPurpose::kConfirm, arm.config.epochs));
    }
  }
}

void check_size(const StudyPlan& plan) {
  constexpr std::size_t kMostRuns = 1'000'000;
  const std::size_t runs = plan.arms.size() * plan.record.seeds.size();
  if (runs <= kMostRuns) return;
  throw ConfigError(fmt::format("{} arms with {} seeds are {} runs; at most {}", plan.arms.size(),
                                plan.record.seeds.size(), runs, kMostRuns));
}

void check_search(const StudyPlan& plan) {
  const PlannedArm* first = nullptr;
  for (const PlannedArm& arm : plan.arms) {
    if (arm.name == plan.record.baseline) continue;
    if (first == nullptr) first = &arm;
    if (arm.config.epochs != first->config.epochs) {
      throw ConfigError(fmt::format(
          "search: halving compares runs of equal length, but epochs is {} in arm '{}' and {} in "
          "'{}'",
          first->config.epochs, first->name, arm.config.epochs, arm.name));
    }
  }
  if (first == nullptr) throw ConfigError("search: halving needs arms besides the baseline");
}

void check_growing(const StudyPlan& plan) {
  if (!plan.record.baseline) {
    throw ConfigError(
        "seeds: until is about differences to a baseline: mark an arm with baseline: true");
  }
  if (plan.arms.size() < 2) throw ConfigError("seeds: until needs arms besides the baseline");
}

}  // namespace

StudyPlan make_plan(const StudySpec& spec, const config::Schema& schema) {
  ArmPlan planned = plan_arms(spec, schema);
  StudyPlan plan{.directory = spec.output,
                 .record = {.name = spec.name,
                            .baseline = {},
                            .metric = spec.metric.empty() ? "best_accuracy" : spec.metric,
                            .target = spec.target,
                            .seeds = spec.seeds,
                            .confirmation_seeds = spec.confirmation_seeds,
                            .arms = {},
                            .runs = {},
                            .search = {}},
                 .arms = std::move(planned.arms),
                 .search = spec.search,
                 .skipped = std::move(planned.skipped),
                 .jobs = spec.jobs};
  for (const NamedArm& arm : spec.arms) {
    if (arm.is_baseline) plan.record.baseline = arm.name;
  }
  if (spec.growing) {
    plan.record.growing =
        SeedPlan{.until = spec.growing->until,
                 .planned = statistics::plan_looks(spec.growing->at_least, spec.seeds.size()),
                 .taken = {}};
    check_growing(plan);
  }
  std::vector<config::RunConfig> configs;
  for (const PlannedArm& arm : plan.arms) configs.push_back(arm.config);
  const auto keys = differing_keys(configs, schema);
  for (const PlannedArm& arm : plan.arms) {
    StudyArm& recorded = plan.record.arms.emplace_back(StudyArm{.name = arm.name, .settings = {}});
    for (const config::ConfigKey* key : keys) {
      recorded.settings.emplace_back(key->path(), setting_text(*key, arm.config));
    }
  }
  check_size(plan);
  if (plan.search.kind == SearchSpec::Kind::kHalving) check_search(plan);
  return plan;
}

bool can_be_array(const StudyPlan& plan) {
  return plan.search.kind == SearchSpec::Kind::kGrid && !plan.record.growing;
}

config::RunConfig config_of(const StudyPlan& plan, const StudyRun& run) {
  const PlannedArm& arm = arm_of(plan, run.arm);
  config::RunConfig config = arm.config;
  config.name = fmt::format("{}-{}", plan.record.name, arm.slug);
  config.seed = run.seed;
  config.epochs = run.epochs;
  config.output = fmt::format("{}/{}", plan.directory, run.folder);
  return config;
}

std::optional<StudyRun> planned_run(const StudyPlan& plan, const StudyRun& wanted) {
  const bool searches = plan.search.kind == SearchSpec::Kind::kHalving;
  if (searches == (wanted.purpose == RunPurpose::kGrid)) return std::nullopt;
  const auto& seeds =
      wanted.purpose == RunPurpose::kConfirm ? plan.record.confirmation_seeds : plan.record.seeds;
  if (std::find(seeds.begin(), seeds.end(), wanted.seed) == seeds.end()) return std::nullopt;
  for (const PlannedArm& arm : plan.arms) {
    if (arm.name != wanted.arm) continue;
    const bool is_short = wanted.purpose == RunPurpose::kSearch;
    return make_run(plan, arm, wanted.seed, wanted.purpose,
                    is_short ? wanted.epochs : arm.config.epochs);
  }
  return std::nullopt;
}

StudyRecord unfold(const StudyPlan& plan, const ResultOf& result_of) {
  StudyRecord record = plan.record;
  if (record.growing) {
    GrowingGrid(plan, result_of, record).unfold();
  } else if (plan.search.kind == SearchSpec::Kind::kGrid) {
    add_grid(plan, record);
  } else {
    add_search(plan, result_of, record);
    add_confirmation(plan, record);
  }
  return record;
}

}  // namespace impart::study
