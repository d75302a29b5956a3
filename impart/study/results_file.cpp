#include "impart/study/results_file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::study {
namespace {

std::string text_of(const std::string& path) {
  return std::filesystem::exists(path) ? std::string(InputFile(path).text()) : "";
}

/// Why a row is no run of the plan; "" if it is one.
std::string staleness(const ResultRow& row, const StudyPlan& plan) {
  const auto planned = planned_run(plan, row.run);
  if (!planned) return "is no run of this study as it is now";
  if (planned->config_hash == row.run.config_hash) return "";
  return fmt::format("has another configuration ({}) than the study now ({})", row.run.config_hash,
                     planned->config_hash);
}

bool has_line_break(const std::string& text) {
  return text.find_first_of("\r\n") != std::string::npos;
}

void check_arm(const StudyArm& arm) {
  const bool broken = has_line_break(arm.name) ||
                      std::any_of(arm.settings.begin(), arm.settings.end(),
                                  [](const auto& one) { return has_line_break(one.second); });
  if (!broken) return;
  throw ConfigError(fmt::format(
      "arm '{}' has a line break in its name or settings, which --results cannot keep", arm.name));
}

}  // namespace

ResultsFile::ResultsFile(std::string path, const StudyRecord& record)
    : path_(std::move(path)), on_disk_(text_of(path_)) {
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw ConfigError(
        fmt::format("--results {}: there is no folder {}; make it first", path_, folder.string()));
  }
  if (!on_disk_.empty()) table_ = read_result_table(path_);
  const auto has_metric = [&](const ResultRow& row) {
    return row.summary.number(record.metric).has_value();
  };
  if (!table_.rows.empty() && table_.study.metric != record.metric &&
      std::none_of(table_.rows.begin(), table_.rows.end(), has_metric)) {
    throw ConfigError(fmt::format(
        "{}: no row has a '{}', by which this study compares its arms; give --results another "
        "file to run it again",
        path_, record.metric));
  }
  if (table_.study.growing) looks_before_ = table_.study.growing->planned;
  table_.study = record;
}

void ResultsFile::check_plan(const StudyPlan& plan) const {
  for (const StudyArm& arm : plan.record.arms) check_arm(arm);
  const auto& growing = plan.record.growing;
  if (looks_before_.empty() || (growing && looks_before_ == growing->planned)) return;
  throw ConfigError(fmt::format(
      "{}: its study was planned to look at its results after {} seeds, so at_least and at_most of "
      "seeds stay as they were; another file for --results begins a new study",
      path_, fmt::join(looks_before_, ", ")));
}

std::vector<std::string> ResultsFile::stale_rows(const StudyPlan& plan) const {
  std::vector<std::string> stale;
  for (const ResultRow& row : table_.rows) {
    const std::string reason = staleness(row, plan);
    if (reason.empty()) continue;
    stale.push_back(fmt::format("{}:{}: '{}' with seed {} {}", path_, row.line, row.run.arm,
                                row.run.seed, reason));
  }
  return stale;
}

void ResultsFile::drop_stale_rows(const StudyPlan& plan) {
  std::erase_if(table_.rows, [&](const ResultRow& row) { return !staleness(row, plan).empty(); });
}

std::optional<RunReport> ResultsFile::report_of(const StudyRun& run) const {
  const ResultRow* row = find_row(table_, run);
  if (row == nullptr) return std::nullopt;
  return RunReport{.state = Standing::kDone,
                   .value = row->summary.number(table_.study.metric),
                   .seconds = row->summary.number("seconds_total").value_or(0),
                   .epochs_done = run.epochs};
}

void ResultsFile::add(const StudyRun& run, const std::string& folder) {
  ResultRow row{.run = run,
                .build = run::read_build(folder),
                .summary = run::read_summary(folder),
                .line = 0};
  row.run.folder.clear();
  add_row(table_, std::move(row));
}

void ResultsFile::write() {
  if (text_of(path_) != on_disk_) {
    throw DataError(fmt::format(
        "{}: somebody else has changed it while the study ran; the same command goes on from what "
        "is there now",
        path_));
  }
  std::string text = to_csv(table_);
  write_file(path_, text);
  on_disk_ = std::move(text);
}

RunReport inspect_run(const ResultsFile* results, const std::string& directory, const StudyRun& run,
                      const std::string& metric) {
  const auto known = results != nullptr ? results->report_of(run) : std::nullopt;
  return known ? *known : inspect_run(directory, run, metric);
}

}  // namespace impart::study
