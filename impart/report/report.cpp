#include "impart/report/report.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/report/gnuplot.h"
#include "impart/report/render.h"
#include "impart/results/run_results.h"

namespace impart::report {
namespace {

namespace fs = std::filesystem;

std::string count_of(std::size_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

/// "shapes, small-cnn, seed 1"
std::string about_the_run(const Analysis& analysis) {
  const results::RunResult& run = analysis.groups.front().arms.front().arm->runs.front();
  const results::SettingTexts config = results::flatten_config(run.config);
  std::string text = "one run";
  for (const char* key : {"data.name", "model.name", "partition.heuristic"}) {
    const std::string_view value = results::setting(config, key);
    if (!value.empty()) text += fmt::format(", {}", value);
  }
  if (run.seed) text += fmt::format(", seed {}", *run.seed);
  return text;
}

std::string subtitle_of(const Analysis& analysis) {
  std::size_t arms = 0;
  for (const GroupAnalysis& group : analysis.groups) arms += group.arms.size();
  std::string text = is_single_run(analysis)
                         ? about_the_run(analysis)
                         : fmt::format("{} of {}, judged by {}", count_of(analysis.runs, "run"),
                                       count_of(arms, "setting"), analysis.metric_name);
  if (!analysis.diverged.empty()) {
    text += fmt::format("; {} diverged", count_of(analysis.diverged.size(), "run"));
  }
  if (!analysis.results->skipped.empty()) {
    text += fmt::format("; {} left out", count_of(analysis.results->skipped.size(), "run"));
  }
  return text;
}

/// Two arms may have the same slug.
void make_names_unique(const std::vector<Figure*>& figures) {
  std::set<std::string> used;
  for (Figure* figure : figures) {
    const std::string base = figure->name;
    for (int number = 2; !used.insert(figure->name).second; ++number) {
      figure->name = fmt::format("{}-{}", base, number);
    }
  }
}

std::vector<Figure*> figures_in(Document& document) {
  std::vector<Figure*> figures;
  for (Section& section : document.sections) {
    for (Block& block : section.blocks) {
      if (auto* figure = std::get_if<Figure>(&block)) figures.push_back(figure);
    }
  }
  return figures;
}

bool is_missing(const Block& block) {
  const auto* figure = std::get_if<Figure>(&block);
  return figure != nullptr && figure->svg.empty();
}

/// Pictures of an earlier report that this one does not have would look like its own. Those that it
/// does not show are somebody else's.
void remove_old_figures(const std::string& folder) {
  const std::string earlier = folder + "/report.md";
  if (!fs::is_regular_file(earlier)) return;
  const InputFile report(earlier);
  for (const auto& entry : fs::directory_iterator(folder + "/figures")) {
    const std::string link = fmt::format("](figures/{})", entry.path().filename().string());
    if (report.text().find(link) != std::string_view::npos) fs::remove(entry.path());
  }
}

}  // namespace

Document make_report(const Analysis& analysis, const ReportSpec& spec) {
  Document document{.title = analysis.results->name.empty() ? "Results" : analysis.results->name,
                    .subtitle = subtitle_of(analysis)};
  write_verdicts(analysis, document);
  document.key_figures = choose_key_figures(analysis);
  for (const auto& section : kSections) {
    std::vector<Block> blocks = section.function(analysis, spec.sections);
    if (blocks.empty()) continue;
    document.sections.push_back({std::string(section.name), std::string(section.summary),
                                 std::move(blocks), section.folded});
  }
  std::vector<Figure*> figures = figures_in(document);
  make_names_unique(figures);
  const std::string trouble = spec.figures ? draw_figures(figures) : "";
  for (Section& section : document.sections) std::erase_if(section.blocks, is_missing);
  std::erase_if(document.sections, [](const Section& section) { return section.blocks.empty(); });
  document.lead = choose_lead(document);
  if (!trouble.empty()) document.subtitle += ". " + trouble;
  return document;
}

void write_report(const Analysis& analysis, const Document& document, const ReportSpec& spec) {
  make_folder(spec.folder + "/figures");
  remove_old_figures(spec.folder);
  for (const Section& section : document.sections) {
    for (const Block& block : section.blocks) {
      const auto* figure = std::get_if<Figure>(&block);
      if (figure == nullptr) continue;
      write_file(fmt::format("{}/figures/{}.svg", spec.folder, figure->name),
                 standalone_svg(figure->svg));
    }
  }
  write_file(spec.folder + "/tables.csv", render_csv(analysis));
  write_file(spec.folder + "/tables.tex", render_latex(document));
  write_file(spec.folder + "/report.md", render_markdown(document));
  write_file(spec.folder + "/report.html", render_html(document));
}

}  // namespace impart::report
