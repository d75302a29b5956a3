#include "impart/study/state.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "impart/config/config_file.h"
#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/run/run_files.h"
#include "impart/run/summary.h"

namespace impart::study {
namespace {

constexpr std::array<std::string_view, 5> kStateNames = {"waiting", "running", "stopped", "done",
                                                         "failed"};
constexpr std::streamoff kTail = 8192;

/// The last bytes of a regular file; "" if there is none.
std::string read_tail(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  const std::streamoff length = std::min(size, kTail);
  std::string tail(static_cast<std::size_t>(std::max<std::streamoff>(length, 0)), '\0');
  file.seekg(size - length);
  file.read(tail.data(), length);
  tail.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return tail;
}

std::string other_configuration(const std::string& found, const std::string& expected) {
  return found == expected ? "" : fmt::format("has another configuration ({})", found);
}

void take_summary(const std::string& folder, const StudyRun& run, const std::string& metric,
                  RunReport& report) {
  if (::access((folder + "/summary.json").c_str(), R_OK) != 0) {
    report.misfit = "is marked DONE, but has no summary.json that can be read";
    return;
  }
  run::SummaryFile summary;
  try {
    summary = run::read_summary(folder);
  } catch (const DataError&) {
  }
  if (summary.config_hash.empty()) {
    report.misfit = "is marked DONE, but its summary.json is broken";
    return;
  }
  report.misfit = other_configuration(summary.config_hash, run.config_hash);
  if (!report.misfit.empty()) return;
  report.state = Standing::kDone;
  report.seconds = summary.number("seconds_total").value_or(0);
  report.epochs_done = static_cast<std::uint32_t>(summary.number("epochs").value_or(run.epochs));
  report.value = summary.number(metric);
}

void check_config(const std::string& folder, const StudyRun& run, RunReport& report) {
  try {
    const config::RunConfig config =
        config::load_config(folder + "/config.yaml", {}, config::kAnyProgram);
    report.misfit = other_configuration(config::config_hash(config), run.config_hash);
  } catch (const ConfigError& error) {
    report.misfit = fmt::format("has a config.yaml that cannot be read: {}", error.what());
  }
}

}  // namespace

std::string_view state_name(Standing state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::uint32_t epochs_done(const std::string& run_folder) {
  std::string tail = read_tail(run_folder + "/metrics.jsonl");
  const std::size_t end = tail.rfind('\n');
  if (end == std::string::npos) return 0;
  tail.resize(end);
  const std::size_t start = tail.rfind('\n');
  const auto line = nlohmann::json::parse(tail.substr(start == std::string::npos ? 0 : start + 1),
                                          nullptr, false);
  if (!line.is_object() || !line.contains("epoch") || !line["epoch"].is_number_unsigned()) return 0;
  return line["epoch"].get<std::uint32_t>() + 1;
}

std::string last_line(const std::string& path) {
  constexpr std::string_view kBlank = " \t\r\n";
  constexpr std::string_view kProgram = "impart: ";
  std::string tail = read_tail(path);
  const std::size_t end = tail.find_last_not_of(kBlank);
  if (end == std::string::npos) return "";
  tail.resize(end + 1);
  const std::size_t start = tail.find_last_of("\r\n");
  std::string line = tail.substr(start == std::string::npos ? 0 : start + 1);
  if (line.starts_with(kProgram)) line.erase(0, kProgram.size());
  return line;
}

RunReport inspect_run(const std::string& directory, const StudyRun& run,
                      const std::string& metric) {
  const std::string folder = fmt::format("{}/{}", directory, run.folder);
  RunReport report;
  std::optional<run::RunStatus> status;
  try {
    status = run::read_status(folder);
  } catch (const DataError& error) {
    report.misfit = error.what();
    return report;
  }
  if (status == run::RunStatus::kDone) {
    take_summary(folder, run, metric, report);
    return report;
  }
  std::error_code ignored;
  const bool has_config = std::filesystem::exists(folder + "/config.yaml", ignored);
  if (!has_config && !status) return report;
  if (has_config) check_config(folder, run, report);
  report.state = status == run::RunStatus::kFailed ? Standing::kFailed : Standing::kStopped;
  report.epochs_done = epochs_done(folder);
  if (report.state == Standing::kFailed) {
    report.reason = last_line(folder + "/FAILED");
    if (report.reason.empty()) report.reason = last_line(folder + "/log.txt");
    if (report.reason.empty()) report.reason = "no reason is known";
  }
  return report;
}

}  // namespace impart::study
