// impart study --status: a study directory at a glance, without starting anything.

#include "cli/study/status.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/output.h"
#include "cli/study/text.h"
#include "cli/terminal/terminal_text.h"
#include "impart/run/run_directory.h"
#include "impart/study/lock.h"
#include "impart/study/status.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPipedColumns = 120;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json counts_json(const study::RunCounts& counts) {
  return {{"total", counts.total()}, {"done", counts.done},       {"running", counts.running},
          {"failed", counts.failed}, {"stopped", counts.stopped}, {"waiting", counts.waiting}};
}

Json stage_json(const study::StageStatus& stage) {
  Json arms = Json::array();
  for (const study::ArmStatus& arm : stage.arms) {
    arms.push_back({{"name", arm.name},
                    {"runs", counts_json(arm.counts)},
                    {"mean", or_null(arm.mean)},
                    {"std", or_null(arm.deviation)},
                    {"difference", or_null(arm.difference)}});
  }
  return {{"purpose", study::purpose_name(stage.purpose)},
          {"epochs", stage.epochs},
          {"runs", counts_json(stage.counts)},
          {"best", stage.best ? Json(stage.arms[*stage.best].name) : Json()},
          {"arms", arms}};
}

Json run_json(const study::StudyRun& run, const study::RunReport& report) {
  Json json = {{"arm", run.arm},
               {"seed", run.seed},
               {"folder", run.folder},
               {"purpose", study::purpose_name(run.purpose)},
               {"state", study::state_name(report.state)},
               {"epochs_done", report.epochs_done},
               {"epochs", run.epochs},
               {"value", or_null(report.value)},
               {"seconds", report.seconds}};
  if (!report.reason.empty()) json["reason"] = report.reason;
  if (!report.misfit.empty()) json["misfit"] = report.misfit;
  return json;
}

void print_problems(const StudyLook& look) {
  for (std::size_t i = 0; i < look.reports.size(); ++i) {
    const study::RunReport& report = look.reports[i];
    const study::StudyRun& run = look.record.runs[i];
    if (!report.misfit.empty()) {
      answer("{}: {}\n", harmless(run.folder), harmless(report.misfit));
    } else if (report.state == study::Standing::kFailed) {
      answer("{}; log: {}/{}/log.txt\n", run_text(look.record, run, report),
             harmless(look.directory), harmless(run.folder));
    }
  }
}

}  // namespace

std::unique_ptr<study::ResultsFile> open_results(const std::string& path,
                                                 const study::StudyRecord& record) {
  return path.empty() ? nullptr : std::make_unique<study::ResultsFile>(path, record);
}

StudyLook look_at_study(const std::string& directory, const std::string& results_path) {
  const bool is_studied = study::StudyLock::is_held(directory);
  StudyLook look{.directory = directory,
                 .record = study::read_study(directory),
                 .reports = {},
                 .is_running = is_studied};
  const auto results = open_results(results_path, look.record);
  for (const study::StudyRun& run : look.record.runs) {
    look.reports.push_back(study::inspect_run(results.get(), directory, run, look.record.metric));
    study::RunReport& report = look.reports.back();
    if (report.state != study::Standing::kStopped) continue;
    const bool is_written =
        run::RunDirectory::is_written(fmt::format("{}/{}", directory, run.folder));
    if (is_studied || is_written) report.state = study::Standing::kRunning;
    look.is_running = look.is_running || is_written;
  }
  return look;
}

void print_status(const StudyLook& look) {
  const study::StudyStatus status = study::summarise(look.record, look.reports);
  answer("{}: {}{}\n", harmless(look.record.name), counts_text(status.counts),
         look.is_running ? "" : "; nothing runs now");
  const bool on_terminal = ::isatty(STDOUT_FILENO) != 0;
  const std::size_t columns = on_terminal ? terminal_size(STDOUT_FILENO).columns : kPipedColumns;
  for (const study::StageStatus& stage : status.stages) {
    const std::string title = stage_title(look.record, stage);
    if (!title.empty()) answer("{}\n", title);
    for (const std::string& line : stage_table(look.record, stage, {.columns = columns})) {
      answer("{}\n", line);
    }
  }
  for (const std::string& line : search_text(look.record, status)) answer("{}\n", line);
  for (const std::string& line : growth_text(look.record)) answer("{}\n", line);
  print_problems(look);
}

void print_status_json(const StudyLook& look) {
  const study::StudyStatus status = study::summarise(look.record, look.reports);
  Json stages = Json::array();
  for (const study::StageStatus& stage : status.stages) stages.push_back(stage_json(stage));
  Json runs = Json::array();
  for (std::size_t i = 0; i < look.reports.size(); ++i) {
    runs.push_back(run_json(look.record.runs[i], look.reports[i]));
  }
  const auto& search = look.record.search;
  const Json json = {{"name", look.record.name},
                     {"directory", look.directory},
                     {"metric", look.record.metric},
                     {"baseline", look.record.baseline ? Json(*look.record.baseline) : Json()},
                     {"is_running", look.is_running},
                     {"counts", counts_json(status.counts)},
                     {"winner", search && search->winner ? Json(*search->winner) : Json()},
                     {"stages", stages},
                     {"runs", runs}};
  answer("{}\n", json.dump(1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace impart::cli
