#include "impart/statistics/comparison.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/statistics/holm.h"
#include "impart/statistics/power.h"

namespace impart::statistics {
namespace {

void check(const ArmRuns& arm) {
  if (arm.values.empty()) throw DataError(fmt::format("{} has no runs", arm.name));
  require_finite(arm.values, arm.name.c_str());
  if (arm.seeds.empty()) return;
  if (arm.seeds.size() != arm.values.size()) {
    throw DataError(fmt::format("{} has {} values but {} seeds", arm.name, arm.values.size(),
                                arm.seeds.size()));
  }
  std::unordered_set<std::uint64_t> seen;
  for (const std::uint64_t seed : arm.seeds) {
    if (!seen.insert(seed).second) {
      throw DataError(fmt::format("{} has two runs with seed {}", arm.name, seed));
    }
  }
}

ArmComparison compare_by_pairs(const ArmRuns& arm, const ArmRuns& baseline, const PairedRuns& pairs,
                               const ComparisonSpec& spec) {
  ArmComparison result{.name = arm.name, .values = describe(arm.values)};
  result.paired = compare_pairs(pairs.arm, pairs.baseline, spec.paired);
  result.n = result.paired->n;
  result.lacks_seeds = result.n < baseline.values.size();
  result.difference = result.paired->mean_difference;
  result.interval = result.paired->interval;
  return result;
}

ArmComparison compare_unpaired(const ArmRuns& arm, const ArmRuns& baseline,
                               const ComparisonSpec& spec) {
  ArmComparison result{.name = arm.name, .values = describe(arm.values)};
  result.welch = welch_test(arm.values, baseline.values, spec.paired.confidence);
  result.n = arm.values.size();
  result.difference = result.welch->difference;
  result.interval = result.welch->interval;
  return result;
}

/// Everything that does not depend on how many arms there are.
ArmComparison compare_one(const ArmRuns& arm, const ArmRuns& baseline, const ComparisonSpec& spec) {
  const PairedRuns pairs = pair_by_seed(arm, baseline);
  const bool few_runs = arm.values.size() < 2 || baseline.values.size() < 2;
  if (pairs.arm.size() >= 2 || (pairs.arm.size() == 1 && few_runs)) {
    return compare_by_pairs(arm, baseline, pairs, spec);
  }
  return compare_unpaired(arm, baseline, spec);
}

/// Can this arm be tested at all? By numbers of runs alone.
bool is_testable(const ArmComparison& arm, const Description& baseline) {
  return arm.n >= 2 && baseline.n >= 2;
}

void choose_test(ArmComparison& arm, std::size_t arms, double alpha) {
  if (arm.welch) {
    arm.test = TestKind::kWelch;
    arm.p = arm.welch->p;
    return;
  }
  arm.test = choose_paired_test(arm.n, arms, alpha);
  // Differences that are all the same have no t; the sign-flip test is still there.
  if (arm.test == TestKind::kStudent && !arm.paired->student_p) arm.test = TestKind::kSignFlip;
  arm.p = arm.test == TestKind::kSignFlip ? arm.paired->sign_flip->p : arm.paired->student_p;
}

/// Solving for the power of a paired test takes a millisecond, and most arms have the same n.
class DetectableDifferences {
 public:
  explicit DetectableDifferences(const PowerSpec& spec) : spec_(spec) {}

  std::optional<double> of(const ArmComparison& arm, const Description& baseline) {
    const double difference =
        arm.paired ? arm.paired->std * effect(arm.n)
                   : detectable_difference({arm.values.n, baseline.n, arm.values.std, baseline.std},
                                           spec_);
    return difference > 0 ? std::optional(difference) : std::nullopt;
  }

 private:
  /// In standard deviations.
  double effect(std::size_t pairs) {
    const auto [place, is_new] = effects_.try_emplace(pairs);
    if (is_new) place->second = detectable_difference(pairs, 1, spec_);
    return place->second;
  }

  PowerSpec spec_;
  std::unordered_map<std::size_t, double> effects_;
};

void correct_and_claim(StudyComparison& study) {
  std::vector<double> p_values;
  for (const ArmComparison& arm : study.arms) {
    if (arm.p) p_values.push_back(*arm.p);
  }
  study.tested = p_values.size();
  const std::vector<double> adjusted = adjust_by_holm(p_values);
  std::size_t next = 0;
  for (ArmComparison& arm : study.arms) {
    if (!arm.p) continue;
    arm.adjusted_p = std::min(1.0, adjusted[next++] * study.spec.looks);
    const bool higher = arm.difference > 0;
    const bool better = higher == (study.spec.better == Better::kHigher);
    arm.claim = *arm.adjusted_p > study.spec.alpha ? Claim::kUnclear
                : better                           ? Claim::kBetter
                                                   : Claim::kWorse;
  }
}

}  // namespace

std::string_view name_of(TestKind test) {
  switch (test) {
    case TestKind::kSignFlip:
      return "sign-flip test";
    case TestKind::kStudent:
      return "paired t-test";
    case TestKind::kWelch:
      return "Welch's t-test";
    case TestKind::kNone:
      break;
  }
  return "no test";
}

TestKind choose_paired_test(std::size_t pairs, std::size_t arms, double alpha) {
  if (pairs < 2) return TestKind::kNone;
  const double finest =
      smallest_sign_flip_p(pairs) * static_cast<double>(std::max<std::size_t>(arms, 1));
  return finest * kSignFlipMargin <= alpha ? TestKind::kSignFlip : TestKind::kStudent;
}

PairedRuns pair_by_seed(const ArmRuns& arm, const ArmRuns& baseline) {
  std::unordered_map<std::uint64_t, double> value_of;
  for (std::size_t i = 0; i < arm.seeds.size(); ++i) value_of[arm.seeds[i]] = arm.values[i];
  PairedRuns pairs;
  for (std::size_t i = 0; i < baseline.seeds.size(); ++i) {
    const auto partner = value_of.find(baseline.seeds[i]);
    if (partner == value_of.end()) continue;
    pairs.arm.push_back(partner->second);
    pairs.baseline.push_back(baseline.values[i]);
  }
  return pairs;
}

double interval_confidence(const ComparisonSpec& spec, std::size_t arms) {
  if (spec.looks <= 1) return spec.paired.confidence;
  const auto intervals = static_cast<double>(spec.looks * std::max<std::size_t>(arms, 1));
  return 1 - (1 - spec.paired.confidence) / intervals;
}

PowerSpec power_of(const StudyComparison& study) {
  return {.power = study.spec.power,
          .alpha = study.spec.alpha / study.spec.looks,
          .arms = std::max<std::uint32_t>(study.testable, 1)};
}

StudyComparison compare_arms(const ArmRuns& baseline, std::span<const ArmRuns> arms,
                             const ComparisonSpec& spec) {
  check(baseline);
  StudyComparison study{
      .baseline_name = baseline.name, .baseline = describe(baseline.values), .spec = spec};
  ComparisonSpec each = spec;
  each.paired.confidence = interval_confidence(spec, arms.size());
  for (const ArmRuns& arm : arms) {
    check(arm);
    study.arms.push_back(compare_one(arm, baseline, each));
    study.testable += is_testable(study.arms.back(), study.baseline) ? 1 : 0;
  }
  DetectableDifferences detectable(power_of(study));
  for (ArmComparison& arm : study.arms) {
    if (!is_testable(arm, study.baseline)) continue;
    choose_test(arm, study.testable, spec.alpha / spec.looks);
    arm.detectable = detectable.of(arm, study.baseline);
  }
  correct_and_claim(study);
  return study;
}

}  // namespace impart::statistics
