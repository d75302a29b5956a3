#include <fmt/format.h>

#include "impart/report/escape.h"
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
      "Of {} settings in {} groups {} better than the baseline of their group after correction; {} "
      "worse. Without correction (p < 0.05) {} better and {} worse.",
      tally.settings, tally.groups, count_are(tally.better), count_are(tally.worse),
      count_are(tally.better_uncorrected), count_are(tally.worse_uncorrected));
}

std::vector<std::string> sentences_about(const Analysis& analysis, const GroupAnalysis& group) {
  if (group.comparison) {
    const std::string unit = analysis.unit == "%" ? "points" : analysis.unit;
    return statistics::write_verdict(*group.comparison, {.unit = unit});
  }
  return {
      "Nothing can be claimed: there is no baseline to compare with. Name one with "
      "--baseline."};
}

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

std::string caption_start(const Analysis& analysis, const GroupAnalysis& group) {
  return analysis.groups.size() == 1 ? "" : group.group->name + ": ";
}

std::string name_end(const Analysis& analysis, const GroupAnalysis& group) {
  return analysis.groups.size() == 1 ? "" : "-" + slug_of(group.group->name);
}

}  // namespace impart::report
