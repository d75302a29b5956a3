#include "impart/study/known_runs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::study {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostMisfits = 5;

/// Where runs that no longer fit go: old/1, old/2, …, the first that is not there yet.
std::string next_old_folder(const std::string& directory) {
  for (int number = 1;; ++number) {
    std::string path = fmt::format("{}/old/{}", directory, number);
    if (!fs::exists(path)) return path;
  }
}

}  // namespace

void KnownRuns::open() {
  keep_to_planned_looks();
  open_results();
}

/// Looks that are planned anew after the first has been taken are corrected for by nobody.
void KnownRuns::keep_to_planned_looks() const {
  if (!plan_.record.growing || !fs::exists(plan_.directory + "/study.json")) return;
  const std::optional<SeedPlan> before = read_study(plan_.directory).growing;
  if (!before || before->taken.empty() || before->planned == plan_.record.growing->planned) return;
  throw ConfigError(fmt::format(
      "{} was planned to look at its results after {} seeds and has begun to, so at_least and "
      "at_most of seeds stay as they were; another name or output begins a new study",
      plan_.directory, fmt::join(before->planned, ", ")));
}

void KnownRuns::open_results() {
  if (spec_.results.empty()) return;
  results_.emplace(spec_.results, plan_.record);
  results_->check_plan(plan_);
  std::vector<std::string> stale = results_->stale_rows(plan_);
  if (stale.empty()) return;
  if (!spec_.fresh) {
    const std::size_t count = stale.size();
    stale.resize(std::min(count, kMostMisfits));
    throw ConfigError(fmt::format(
        "{} rows of {} are not of this study as it is now; --fresh leaves them out and runs them "
        "again, another file for --results leaves them as they are:\n  {}",
        count, spec_.results, fmt::join(stale, "\n  ")));
  }
  const std::string aside = next_old_folder(plan_.directory);
  make_folder(aside);
  write_file(aside + "/results.csv", InputFile(spec_.results).text());
  results_->drop_stale_rows(plan_);
  results_->write();
  note(fmt::format("left {} rows of another configuration out of {}; as it was: {}/results.csv",
                   stale.size(), spec_.results, aside));
}

void KnownRuns::keep_results() {
  if (!results_) return;
  bool is_new = false;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    const StudyRun& run = record_.runs[i];
    if (reports_[i].state != Standing::kDone || results_->report_of(run)) continue;
    results_->add(run, folder_of(i));
    is_new = true;
  }
  if (is_new) results_->write();
}

void KnownRuns::learn() {
  record_ = unfold(plan_, [&](const StudyRun& run) -> Finding {
    const RunReport report = inspect(run);
    const auto known = std::find(record_.runs.begin(), record_.runs.end(), run);
    const auto index = static_cast<std::size_t>(known - record_.runs.begin());
    const bool tried = index < tried_.size() && tried_[index];
    const bool failed = report.state == Standing::kFailed && (tried || !spec_.retry);
    const bool fits = report.misfit.empty();
    return {.is_settled = fits && (failed || report.state == Standing::kDone),
            .value = fits ? report.value : std::nullopt};
  });
  for (std::size_t i = reports_.size(); i < record_.runs.size(); ++i) {
    reports_.push_back(inspect(record_.runs[i]));
  }
  tried_.resize(record_.runs.size(), false);
  move_misfits_aside();
  write_study(plan_.directory, record_);
  keep_results();
}

void KnownRuns::move_misfits_aside() {
  std::vector<std::size_t> misfits;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (is_mine(i) && !reports_[i].misfit.empty()) misfits.push_back(i);
  }
  if (misfits.empty()) return;
  if (!spec_.fresh) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(misfits.size(), kMostMisfits); ++i) {
      lines.push_back(fmt::format("{} {}", folder_of(misfits[i]), reports_[misfits[i]].misfit));
    }
    throw ConfigError(fmt::format(
        "{} runs in {} are not of this study as it is now; --fresh moves them aside and runs them "
        "again, another name or output leaves them as they are:\n  {}",
        misfits.size(), plan_.directory, fmt::join(lines, "\n  ")));
  }
  const std::string aside = next_old_folder(plan_.directory);
  for (const std::size_t run : misfits) {
    const fs::path target = fs::path(aside) / record_.runs[run].folder;
    make_folder(target.parent_path().string());
    std::error_code error;
    fs::rename(folder_of(run), target, error);
    if (error) throw IoError(fmt::format("{}: cannot move: {}", folder_of(run), error.message()));
    sync_folder(target.parent_path().string());
    sync_folder(fs::path(folder_of(run)).parent_path().string());
    reports_[run] = {};
  }
  note(fmt::format("moved {} runs of another configuration to {}", misfits.size(), aside));
}

std::string KnownRuns::folder_of(std::size_t run) const {
  return fmt::format("{}/{}", plan_.directory, record_.runs[run].folder);
}

RunReport KnownRuns::inspect(const StudyRun& run) const {
  return inspect_run(results_ ? &*results_ : nullptr, plan_.directory, run, plan_.record.metric);
}

const RunReport& KnownRuns::look_at(std::size_t run) {
  reports_[run] = inspect(record_.runs[run]);
  return reports_[run];
}

}  // namespace impart::study
