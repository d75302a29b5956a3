#include <algorithm>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/numbers.h"
#include "impart/report/sections.h"
#include "impart/statistics/verdict.h"

namespace impart::report {
namespace {

/// Claims over all groups, corrected and not.
struct Tally {
  std::size_t settings = 0;
  std::size_t groups = 0;
  std::size_t better = 0, worse = 0;                          ///< after correction
  std::size_t better_uncorrected = 0, worse_uncorrected = 0;  ///< p < alpha
};

Tally count_claims(const Analysis& analysis) {
  Tally tally;
  for (const GroupAnalysis& group : analysis.groups) {
    if (!group.comparison) continue;
    ++tally.groups;
    for (const statistics::ArmComparison& arm : group.comparison->arms) {
      ++tally.settings;
      tally.better += arm.claim == statistics::Claim::kBetter;
      tally.worse += arm.claim == statistics::Claim::kWorse;
      if (!arm.p || *arm.p >= group.comparison->spec.alpha) continue;
      const bool gain = (arm.difference > 0) == (analysis.better == statistics::Better::kHigher);
      ++(gain ? tally.better_uncorrected : tally.worse_uncorrected);
    }
  }
  return tally;
}

std::string count_are(std::size_t count) {
  if (count == 0) return "none is";
  return fmt::format("{} {}", count, count == 1 ? "is" : "are");
}

std::string headline_of(const Tally& tally) {
  return fmt::format(
      "Of {} settings in {} {} better than the baseline of their group after correction; {} "
      "worse. Without correction (p < 0.05) {} better and {} worse.",
      tally.settings, tally.groups == 1 ? "1 group" : fmt::format("{} groups", tally.groups),
      count_are(tally.better), count_are(tally.worse), count_are(tally.better_uncorrected),
      count_are(tally.worse_uncorrected));
}

/// "epoch 6 of 8", as the terminal counts; "" if it is not known.
std::string best_epoch_of(const results::RunResult& run) {
  const auto best = run.number("best_epoch");
  const auto epochs = run.number("epochs");
  if (!best || !epochs) return "";
  return fmt::format("epoch {:.0f} of {:.0f}", *best + 1, *epochs);
}

std::string with_unit(const std::string& number, const Analysis& analysis) {
  return analysis.unit.empty() ? number : number + " " + analysis.unit;
}

/// About runs that nothing can be compared with.
std::string sentence_about(const Analysis& analysis, const ArmAnalysis& arm) {
  const std::string value = with_unit(spread_text(arm.metric), analysis);
  if (arm.metric.n > 1) {
    return fmt::format("The {} of {} runs is {}, from {} to {}.", analysis.metric_name,
                       arm.metric.n, value, number_text(arm.metric.min),
                       number_text(arm.metric.max));
  }
  const std::string epoch = best_epoch_of(arm.arm->runs.front());
  return fmt::format("The {} is {}{}.", analysis.metric_name, value,
                     epoch.empty() ? "" : ", reached in " + epoch);
}

std::vector<std::string> sentences_about(const Analysis& analysis, const GroupAnalysis& group) {
  if (group.comparison) {
    const std::string unit = analysis.unit == "%" ? "points" : analysis.unit;
    return statistics::write_verdict(*group.comparison, {.unit = unit});
  }
  if (group.arms.size() == 1) return {sentence_about(analysis, group.arms.front())};
  return {
      "Nothing can be claimed: there is no baseline to compare with. Name one with "
      "--baseline."};
}

/// The arm that a reader wants to know about: what was found to be better, else what was found to
/// be worse, else the best.
const ArmAnalysis& telling_arm(const GroupAnalysis& group) {
  for (const statistics::Claim claim : {statistics::Claim::kBetter, statistics::Claim::kWorse}) {
    for (const std::size_t i : group.ranking) {
      const ArmAnalysis& arm = group.arms[i];
      if (arm.comparison != nullptr && arm.comparison->claim == claim) return arm;
    }
  }
  return group.arms[group.ranking.front()];
}

KeyFigure difference_figure(const Analysis& analysis, const GroupAnalysis& group) {
  const ArmAnalysis& arm = telling_arm(group);
  const statistics::ArmComparison& compared = *arm.comparison;
  const std::string unit = analysis.unit == "%" ? "points" : analysis.unit;
  std::string meaning = fmt::format("{}{} instead of {}", caption_start(analysis, group),
                                    arm.arm->name, group.baseline()->arm->name);
  if (!unit.empty()) meaning += ", " + unit;
  if (compared.interval) {
    meaning += fmt::format("; 95 % interval {} … {}", difference_text(compared.interval->low),
                           difference_text(compared.interval->high));
  }
  return {difference_text(compared.difference), meaning, tone_of(compared.claim)};
}

KeyFigure mean_figure(const Analysis& analysis, const GroupAnalysis& group,
                      const ArmAnalysis& arm) {
  std::string meaning = caption_start(analysis, group) + analysis.metric_name;
  if (group.arms.size() > 1) meaning += fmt::format(" of {}", arm.arm->name);
  if (arm.metric.n > 1) meaning += fmt::format(", mean of {} runs", arm.metric.n);
  const std::string epoch = best_epoch_of(arm.arm->runs.front());
  if (arm.metric.n == 1 && !epoch.empty()) meaning += ", " + epoch;
  return {with_unit(number_text(arm.metric.mean), analysis), meaning};
}

constexpr std::size_t kMostKeyFigures = 3;

}  // namespace

void write_verdicts(const Analysis& analysis, Document& document) {
  if (analysis.groups.empty()) {
    document.headline = "There are no finished runs, so there is nothing to claim.";
    return;
  }
  for (const GroupAnalysis& group : analysis.groups) {
    document.verdicts.push_back({group.group->name, sentences_about(analysis, group)});
  }
  const Tally tally = count_claims(analysis);
  if (analysis.groups.size() > 1 && tally.groups > 0) {
    document.headline = headline_of(tally);
    return;
  }
  std::vector<std::string>& sentences = document.verdicts.front().sentences;
  document.headline = sentences.front();
  if (analysis.groups.size() == 1) sentences.erase(sentences.begin());
}

std::vector<KeyFigure> choose_key_figures(const Analysis& analysis) {
  std::vector<KeyFigure> figures;
  for (const GroupAnalysis& group : analysis.groups) {
    if (figures.size() == kMostKeyFigures) break;
    if (group.comparison && !group.ranking.empty()) {
      figures.push_back(difference_figure(analysis, group));
    }
    if (analysis.groups.size() > 1 && group.comparison) continue;
    const ArmAnalysis* shown = group.leaders(1).front();
    figures.push_back(mean_figure(analysis, group, *shown));
  }
  return figures;
}

std::string mean_over_runs(const GroupAnalysis& group) {
  const bool several = std::any_of(group.arms.begin(), group.arms.end(),
                                   [](const ArmAnalysis& arm) { return arm.metric.n > 1; });
  return several ? ", mean over runs" : "";
}

bool is_single_run(const Analysis& analysis) {
  return analysis.runs == 1 && analysis.groups.size() == 1;
}

std::string caption_start(const Analysis& analysis, const GroupAnalysis& group) {
  return analysis.groups.size() == 1 ? "" : group.group->name + ": ";
}

std::string name_end(const Analysis& analysis, const GroupAnalysis& group) {
  return analysis.groups.size() == 1 ? "" : "-" + slug_of(group.group->name);
}

}  // namespace impart::report
