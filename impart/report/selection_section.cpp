#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/report/numbers.h"
#include "impart/report/plot.h"
#include "impart/report/sections.h"
#include "impart/statistics/non_inferiority.h"

namespace impart::report {
namespace {

/// Points of accuracy that an arm with fewer visits may be worse and still be called as good.
constexpr double kMargin = 0.2;

bool hides_examples(const ArmAnalysis& arm) {
  const double hidden = mean_number(*arm.arm, "visits_hidden");
  return std::isfinite(hidden) && hidden > 0;
}

bool is_in_points(const Analysis& analysis) {
  return analysis.unit == "%";
}

/// What an arm saves of the baseline's, in per cent.
Cell saved_cell(const ArmAnalysis& arm, const ArmAnalysis* baseline, const char* name) {
  if (baseline == nullptr || arm.is_baseline) return missing_cell();
  const double saved = 100 * (1 - mean_number(*arm.arm, name) / mean_number(*baseline->arm, name));
  if (!std::isfinite(saved)) return missing_cell();
  return {.text = fmt::format("{:.1f} %", saved), .value = saved};
}

std::optional<statistics::NonInferiority> judge_arm(const Analysis& analysis,
                                                    const ArmAnalysis& arm) {
  if (!is_in_points(analysis) || arm.comparison == nullptr || !arm.comparison->paired) {
    return std::nullopt;
  }
  return statistics::test_non_inferiority(*arm.comparison->paired, analysis.better, kMargin);
}

Cell judgement_cell(const Analysis& analysis, const ArmAnalysis& arm) {
  const auto judged = judge_arm(analysis, arm);
  if (!judged) return missing_cell();
  return {.text = p_text(judged->p),
          .value = judged->p,
          .tone = judged->p < 0.05 ? Cell::Tone::kBetter : Cell::Tone::kPlain};
}

Table selection_table(const Analysis& analysis, const GroupAnalysis& group) {
  Table table{.caption = fmt::format("{}visits, and what fewer of them cost{}",
                                     caption_start(analysis, group), mean_over_runs(group))};
  table.columns = {{"setting", false},
                   {analysis.metric_name},
                   {"visits", true, "of examples, in training steps"},
                   {"hidden", true, "sum over epochs of the examples that were not visited"},
                   {"refreshed", true, "of them, that had a forward pass instead"},
                   {"max / mean", true, "of the workers' visits in an epoch"},
                   {"visits saved", true, "of the baseline's"},
                   {"time saved", true, "of the baseline's training"}};
  if (is_in_points(analysis)) {
    table.columns.push_back({"p not worse", true,
                             fmt::format("than the baseline by more than {} points, one-sided "
                                         "paired t-test",
                                         kMargin)});
  }
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    const auto mean = [&](const char* name) { return mean_number(*arm->arm, name); };
    table.rows.push_back(
        {text_cell(arm->arm->name), spread_cell(arm->metric), count_cell(mean("visits")),
         count_cell(mean("visits_hidden")), count_cell(mean("visits_refreshed")),
         number_cell(mean("visits_max_over_mean")), saved_cell(*arm, group.baseline(), "visits"),
         saved_cell(*arm, group.baseline(), "seconds_train")});
    if (is_in_points(analysis)) table.rows.back().push_back(judgement_cell(analysis, *arm));
  }
  table.notes.push_back(
      "p is of this arm alone: with many arms ask for less. A selection is worth its name if it "
      "does "
      "better than random at the same number of visits.");
  return table;
}

/// "infobatch: not worse than vanilla by more than 0.2 points (p = 0.01)."
void add_sentences(const Analysis& analysis, const GroupAnalysis& group,
                   std::vector<Block>& blocks) {
  for (const ArmAnalysis& arm : group.arms) {
    const auto judged = judge_arm(analysis, arm);
    if (!judged || !hides_examples(arm)) continue;
    blocks.push_back(Paragraph{fmt::format(
        "{}: {} than {} by more than {} points: p = {}; with 95 % confidence it is at most {} "
        "points worse.",
        arm.arm->name, judged->p < 0.05 ? "not worse" : "it is not shown that it is not worse",
        group.baseline()->arm->name, kMargin, p_text(judged->p),
        number_text(std::max(0.0, -judged->worst)))});
  }
}

}  // namespace

std::vector<Block> compare_selections(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    if (std::none_of(group.arms.begin(), group.arms.end(), hides_examples)) continue;
    add_sentences(analysis, group, blocks);
    blocks.push_back(selection_table(analysis, group));
  }
  return blocks;
}

}  // namespace impart::report
