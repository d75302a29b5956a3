#include "cli/study/display.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/study/text.h"
#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

constexpr std::size_t kMostRunning = 4;
/// Lines besides arms and running runs: title, stage, head and foot of the table, "more arms", and
/// the cursor's.
constexpr std::size_t kOtherLines = 6;

std::string title(const study::StudyProgress& progress, const study::StudyStatus& status) {
  std::string text = fmt::format("{}: {}", progress.record.name, counts_text(status.counts));
  const auto left = study::seconds_left(progress.record, progress.reports, progress.jobs);
  const bool more_may_come = progress.record.search && !progress.record.search->winner;
  if (progress.is_stopping) {
    text += ", stopping (once more kills)";
  } else if (left) {
    text += fmt::format(", about {} left{}", duration_text(*left),
                        more_may_come ? " for this rung" : "");
  }
  return text;
}

std::vector<std::string> running_lines(const study::StudyProgress& progress, std::size_t most) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < progress.reports.size() && lines.size() < most; ++i) {
    if (progress.reports[i].state != study::Standing::kRunning) continue;
    const study::StudyRun& run = progress.record.runs[i];
    lines.push_back(fmt::format("  running: {} seed {}  epoch {}/{}", run.arm, run.seed,
                                std::min(progress.reports[i].epochs_done + 1, run.epochs),
                                run.epochs));
  }
  return lines;
}

}  // namespace

study::StudyObserver StudyDisplay::observer() {
  study::StudyObserver observer;
  observer.ended = [this](const study::StudyProgress& progress, std::size_t run) {
    show_end(progress, run);
  };
  observer.note = [this](const std::string& text) { print_line(harmless(text)); };
  if (terminal_.paints && verbosity_ != Verbosity::kQuiet) {
    observer.progress = [this](const study::StudyProgress& progress) { paint(progress); };
  }
  return observer;
}

void StudyDisplay::show_end(const study::StudyProgress& progress, std::size_t run) {
  const study::RunReport& report = progress.reports[run];
  const bool failed = report.state == study::Standing::kFailed;
  const bool is_shown =
      verbosity_ == Verbosity::kVerbose || (verbosity_ == Verbosity::kNormal && !terminal_.paints);
  if (!is_shown && !failed) return;
  const auto over =
      std::count_if(progress.reports.begin(), progress.reports.end(), [](const auto& r) {
        return r.state == study::Standing::kDone || r.state == study::Standing::kFailed;
      });
  print_line(fmt::format("[{}/{}] {}", over, progress.reports.size(),
                         run_text(progress.record, progress.record.runs[run], report)));
}

void StudyDisplay::print_line(const std::string& line) {
  painting_.clear();
  say("{}\n", line);
}

void StudyDisplay::paint(const study::StudyProgress& progress) {
  const TerminalSize size = terminal_size(STDERR_FILENO);
  const study::StudyStatus status = study::summarise(progress.record, progress.reports);
  const study::StageStatus& stage = status.stages.back();
  const auto running = running_lines(progress, kMostRunning);
  const std::size_t others = kOtherLines + running.size();
  const std::size_t arms = size.rows > others + 1 ? size.rows - others : 1;
  std::vector<std::string> lines = {title(progress, status)};
  const std::string stage_name = stage_title(progress.record, stage);
  if (!stage_name.empty()) lines.push_back(stage_name);
  for (const std::string& line :
       stage_table(progress.record, stage, {.columns = size.columns - 1, .arms = arms})) {
    lines.push_back(line);
  }
  lines.insert(lines.end(), running.begin(), running.end());
  for (std::string& line : lines) line = cut(line, size.columns - 1);
  if (lines.size() >= size.rows) lines.resize(std::max<std::size_t>(size.rows, 2) - 1);
  lines.front() = coloured(terminal_, "1", lines.front());
  painting_.paint(lines);
}

}  // namespace impart::cli
