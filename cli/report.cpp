// impart report: from finished runs to tables, pictures and what may be claimed.

#include "impart/report/report.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/terminal/progress_line.h"
#include "impart/core/error.h"
#include "impart/report/escape.h"
#include "impart/report/numbers.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownArms = 12;
constexpr std::size_t kShownRuns = 5;
constexpr std::size_t kNameWidth = 36;

struct ReportOptions {
  std::vector<std::string> folders;
  std::string csv;
  std::string output;
  std::string metric;
  std::string baseline;
  std::optional<double> target;
  std::size_t top = 8;
  bool no_figures = false;
};

/// Whether what is reported is the file that `impart study --results` keeps.
bool is_results_file(const ReportOptions& options) {
  const auto is_file = [](const std::string& path) { return fs::is_regular_file(path); };
  if (std::none_of(options.folders.begin(), options.folders.end(), is_file)) return false;
  if (options.folders.size() == 1) return true;
  throw ConfigError("a report is about one file of results, or about folders: give one of them");
}

/// Published data stays as it is; a study or a folder of runs gets its report inside.
std::string output_of(const ReportOptions& options) {
  if (!options.output.empty()) return options.output;
  const bool is_folder =
      options.csv.empty() && options.folders.size() == 1 && !is_results_file(options);
  return is_folder ? options.folders.front() + "/report" : "report";
}

results::Results read(const ReportOptions& options) {
  const results::ResultsSpec wanted{
      .metric = options.metric, .baseline = options.baseline, .target = options.target};
  if (!options.csv.empty()) return results::read_published_results(options.csv, wanted);
  if (is_results_file(options)) return results::read_kept_results(options.folders.front(), wanted);
  return results::read_results(options.folders, wanted);
}

/// Text and blanks up to a width in characters.
std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, report::length_of(text)), ' ');
}

void print_arm(const report::ArmAnalysis& arm) {
  const std::string name =
      padded(report::shortened(report::for_terminal(arm.arm->name), kNameWidth), kNameWidth);
  answer("  {} {:>3}  {}", name, arm.metric.n, padded(report::spread_text(arm.metric), 18));
  if (arm.is_baseline) answer("  baseline");
  if (arm.comparison != nullptr) {
    answer("  {}", padded(report::difference_text(arm.comparison->difference), 8));
    if (arm.comparison->adjusted_p) answer("  {}", report::p_text(*arm.comparison->adjusted_p));
  }
  answer("\n");
}

void print_group(const report::GroupAnalysis& group, const report::Analysis& analysis) {
  const std::string title = report::shortened(report::for_terminal(group.group->name), kNameWidth);
  answer("\n  {} {:>3}  {}  {}  {}\n", padded(title, kNameWidth), "n",
         padded(analysis.metric_name, 18), padded(group.comparison ? "diff" : "", 8),
         group.comparison ? "Holm p" : "");
  const auto arms = group.leaders(group.arms.size());
  for (std::size_t i = 0; i < std::min(arms.size(), kShownArms); ++i) print_arm(*arms[i]);
  if (arms.size() > kShownArms) answer("  … and {} more\n", arms.size() - kShownArms);
}

template <class Run, class Text>
void print_some(const char* title, const std::vector<Run>& runs, const Text& text_of) {
  if (runs.empty()) return;
  answer("\n{}:\n", title);
  for (std::size_t i = 0; i < std::min(runs.size(), kShownRuns); ++i) {
    answer("  {}\n", report::for_terminal(text_of(runs[i])));
  }
  if (runs.size() > kShownRuns) answer("  … and {} more\n", runs.size() - kShownRuns);
}

void print_outcome(const report::Analysis& analysis, const report::Document& document,
                   const std::string& folder) {
  answer("{}\n", report::for_terminal(document.headline));
  for (const report::GroupVerdict& verdict : document.verdicts) {
    if (document.verdicts.size() > 1) answer("\n{}\n", report::for_terminal(verdict.group));
    for (const std::string& sentence : verdict.sentences) {
      answer("  {}\n", report::for_terminal(sentence));
    }
  }
  for (const report::GroupAnalysis& group : analysis.groups) print_group(group, analysis);
  print_some("diverged", analysis.diverged, [](const report::DivergedRun& run) {
    return fmt::format("{}: the training loss is not finite from epoch {} on", run.folder,
                       run.epoch + 1);
  });
  print_some("left out", analysis.results->skipped, [](const results::SkippedRun& run) {
    return fmt::format("{}: {}", run.folder, run.reason);
  });
  answer("\nreport: {}\n", report::for_terminal(folder + "/report.html"));
}

void run_report(const ReportOptions& options) {
  if (options.folders.empty() == options.csv.empty()) {
    throw ConfigError(
        "give a study, its file of results, run directories, or --csv DIR; one of them");
  }
  const report::ReportSpec spec{.folder = output_of(options),
                                .sections = {.top = options.top},
                                .figures = !options.no_figures};
  results::Results results;
  report::Analysis analysis;
  report::Document document;
  {
    ProgressLine line;
    line.phase("reading results");
    results = read(options);
    line.phase("comparing");
    analysis = report::analyse(results);
    line.phase("making the report");
    document = report::make_report(analysis, spec);
    report::write_report(analysis, document, spec);
  }
  print_outcome(analysis, document, spec.folder);
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto* command = app.add_subcommand("report", "Tables, pictures and a verdict from finished runs");
  auto options = std::make_shared<ReportOptions>();
  command->add_option(
      "DIR", options->folders,
      "a study, the file of impart study --results, or run directories and folders of them");
  command->add_option("--csv", options->csv,
                      "results as the DAIS 2023 paper published them, instead of DIR");
  command->add_option("-o,--output", options->output,
                      "folder of the report; DIR/report, or ./report for a file and for several");
  command->add_option("--metric", options->metric,
                      "number of summary.json to judge by, such as final_accuracy");
  command->add_option("--baseline", options->baseline, "setting to compare the others with");
  command->add_option("--target", options->target, "value of the test metric for 'time to target'");
  command->add_option("--top", options->top, "settings in box plots, besides the baseline")
      ->capture_default_str();
  command->add_flag("--no-figures", options->no_figures, "tables only");
  command->callback([options] { run_report(*options); });
}

}  // namespace impart::cli
