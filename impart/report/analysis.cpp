#include "impart/report/analysis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace impart::report {
namespace {

std::string words_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// What results are of: "test", "validation" where runs held out a part of the training set, or
/// both.
std::string part_of(const results::Results& results) {
  std::size_t held_out = 0;
  std::size_t runs = 0;
  for (const results::ResultGroup& group : results.groups) {
    for (const results::ArmResults& arm : group.arms) {
      for (const results::RunResult& run : arm.runs) {
        held_out += run.number("validation_examples").value_or(0) > 0 ? 1 : 0;
        ++runs;
      }
    }
  }
  if (held_out == 0) return "test";
  return held_out == runs ? "validation" : "test or validation";
}

/// "best validation accuracy"; nothing is said where it is the test set, or no result of a set.
std::string metric_name_of(const std::string& metric, const std::string& part) {
  const std::string words = words_of(metric);
  const bool is_result = !results::companion_of(metric).empty();
  if (part == "test" || !is_result) return words;
  const std::size_t blank = words.find(' ') + 1;
  return words.substr(0, blank) + part + " " + words.substr(blank);
}

std::string unit_of(std::string_view metric) {
  if (metric.find("accuracy") != std::string_view::npos) return "%";
  return metric.starts_with("seconds") ? "s" : "";
}

/// What is measured at the end of an epoch, and the part of a metric's name that speaks of it.
struct Curve {
  std::string_view part;
  const char* name;
  double results::EpochResult::*value;
};

constexpr Curve kCurves[] = {
    {"loss", "loss", &results::EpochResult::test_loss},
    {"perplexity", "perplexity", &results::EpochResult::test_perplexity},
    {"bits_per_byte", "bits per byte", &results::EpochResult::test_bits_per_byte},
    {"", "accuracy (%)", &results::EpochResult::test_accuracy},
};

const Curve& curve_of(std::string_view metric) {
  return *std::find_if(std::begin(kCurves), std::end(kCurves), [&](const Curve& curve) {
    return metric.find(curve.part) != std::string_view::npos;
  });
}

std::optional<statistics::Description> describe_number(const results::ArmResults& arm,
                                                       const std::string& name) {
  std::vector<double> values;
  for (const results::RunResult& run : arm.runs) {
    const auto value = run.number(name);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return statistics::describe(values);
}

statistics::ArmRuns runs_of(const results::ArmResults& arm, const std::string& metric) {
  statistics::ArmRuns runs{.name = arm.name, .values = {}};
  for (const results::RunResult& run : arm.runs) {
    runs.values.push_back(run.number(metric).value_or(std::nan("")));
    if (run.seed) runs.seeds.push_back(*run.seed);
  }
  if (runs.seeds.size() != runs.values.size()) runs.seeds.clear();
  return runs;
}

void compare(GroupAnalysis& analysis, const results::Results& results) {
  const std::string& metric = results.metric;
  const results::ResultGroup& group = *analysis.group;
  std::vector<statistics::ArmRuns> others;
  for (std::size_t i = 0; i < group.arms.size(); ++i) {
    if (i != *group.baseline) others.push_back(runs_of(group.arms[i], metric));
  }
  analysis.comparison =
      statistics::compare_arms(runs_of(group.arms[*group.baseline], metric), others,
                               {.better = results::better_of(metric), .looks = results.looks});
  std::size_t next = 0;
  for (ArmAnalysis& arm : analysis.arms) {
    if (!arm.is_baseline) arm.comparison = &analysis.comparison->arms[next++];
  }
}

GroupAnalysis analyse_group(const results::ResultGroup& group, const std::string& metric) {
  GroupAnalysis analysis{.group = &group};
  for (std::size_t i = 0; i < group.arms.size(); ++i) {
    ArmAnalysis arm{.arm = &group.arms[i]};
    arm.values = runs_of(group.arms[i], metric).values;
    arm.metric = statistics::describe(arm.values);
    arm.companion = describe_number(group.arms[i], results::companion_of(metric));
    arm.is_baseline = group.baseline == i;
    analysis.arms.push_back(std::move(arm));
    if (group.baseline != i) analysis.ranking.push_back(i);
  }
  const bool higher = results::better_of(metric) == statistics::Better::kHigher;
  std::stable_sort(analysis.ranking.begin(), analysis.ranking.end(),
                   [&](std::size_t a, std::size_t b) {
                     const double first = analysis.arms[a].metric.mean;
                     const double second = analysis.arms[b].metric.mean;
                     return higher ? first > second : first < second;
                   });
  return analysis;
}

void note_diverged(const results::ArmResults& arm, Analysis& analysis) {
  for (const results::RunResult& run : arm.runs) {
    const auto epoch = run.number("diverged_at");
    if (epoch) analysis.diverged.push_back({run.folder, static_cast<std::uint32_t>(*epoch)});
  }
}

}  // namespace

const ArmAnalysis* GroupAnalysis::baseline() const {
  return group->baseline ? &arms[*group->baseline] : nullptr;
}

std::vector<const ArmAnalysis*> GroupAnalysis::leaders(std::size_t count) const {
  std::vector<const ArmAnalysis*> chosen;
  if (baseline() != nullptr) chosen.push_back(baseline());
  for (std::size_t i = 0; i < std::min(count, ranking.size()); ++i) {
    chosen.push_back(&arms[ranking[i]]);
  }
  return chosen;
}

Analysis analyse(const results::Results& results) {
  const std::string part = part_of(results);
  Analysis analysis{.results = &results,
                    .better = results::better_of(results.metric),
                    .metric_name = metric_name_of(results.metric, part),
                    .curve_name = part + " " + curve_of(results.metric).name,
                    .unit = unit_of(results.metric)};
  for (const results::ResultGroup& group : results.groups) {
    analysis.groups.push_back(analyse_group(group, results.metric));
    for (const results::ArmResults& arm : group.arms) {
      analysis.runs += arm.runs.size();
      note_diverged(arm, analysis);
    }
  }
  // Comparisons are pointed to: they are made when the groups no longer move.
  for (GroupAnalysis& group : analysis.groups) {
    if (group.group->baseline) compare(group, results);
  }
  return analysis;
}

double mean_number(const results::ArmResults& arm, std::string_view name) {
  std::vector<double> values;
  for (const results::RunResult& run : arm.runs) {
    if (const auto value = run.number(name)) values.push_back(*value);
  }
  return statistics::mean_of(values);
}

double curve_value(const results::EpochResult& epoch, std::string_view metric) {
  return epoch.*curve_of(metric).value;
}

}  // namespace impart::report
