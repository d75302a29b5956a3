#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/statistics/describe.h"
#include "impart/statistics/interval.h"
#include "impart/statistics/paired.h"
#include "impart/statistics/power.h"
#include "impart/statistics/student.h"
#include "impart/statistics/time_to_target.h"

namespace impart::statistics {

/// The results of one arm of a study: one value per run.
struct ArmRuns {
  std::string name;
  std::vector<double> values;
  /// The seed of each run, to pair it with the baseline's run of the same seed. Empty if unknown.
  std::vector<std::uint64_t> seeds = {};
};

/// Which test an arm's p-value comes from. It is chosen by the numbers of pairs and arms alone,
/// never by the values, or p would mean nothing.
enum class TestKind {
  kNone,      ///< fewer than two runs or pairs: no claim is possible
  kSignFlip,  ///< pairs: only assumes that differences are symmetric if there is no effect
  kStudent,   ///< pairs, but too few for the sign-flip test to pass the correction: paired t-test
  kWelch,     ///< no common seeds
};

/// With n pairs the sign-flip test has no p below 2 / 2^n. It decides if that is this many times
/// smaller than what the correction asks for. Then it finds normal differences that a t-test finds
/// with probability 0.8 with 0.75 or more; closer to the limit with down to 0.56, beyond it never.
inline constexpr double kSignFlipMargin = 6;

/// "sign-flip test", "paired t-test", "Welch's t-test", "no test".
std::string_view name_of(TestKind test);

TestKind choose_paired_test(std::size_t pairs, std::size_t arms, double alpha);

enum class Claim {
  kNone,     ///< not tested
  kUnclear,  ///< neither better nor worse after correction
  kBetter,
  kWorse,
};

/// An arm beside the baseline.
struct ArmComparison {
  std::string name;
  Description values;        ///< of all its runs
  std::size_t n = 0;         ///< pairs; the arm's runs where seeds cannot be paired
  bool lacks_seeds = false;  ///< paired over fewer seeds than the baseline has
  TestKind test = TestKind::kNone;
  double difference = 0;                  ///< mean, arm minus baseline
  std::optional<Interval> interval = {};  ///< for it; see interval_confidence
  std::optional<double> p = {};           ///< of `test`, not corrected
  std::optional<double> adjusted_p = {};  ///< by Holm over all arms that have a p, times the looks
  /// The smallest difference that this n would have shown with the power asked for, corrected for
  /// all arms. Absent without a test or without spread.
  std::optional<double> detectable = {};
  std::optional<PairedComparison> paired = {};  ///< everything about the pairs
  std::optional<TTest> welch = {};
  Claim claim = Claim::kNone;
};

/// How arms are compared.
struct ComparisonSpec {
  Better better = Better::kHigher;
  double alpha = 0.05;  ///< chance of one or more false claims in the whole study
  double power = 0.8;
  std::uint32_t looks = 1;  ///< planned, at which the study may have stopped (looks.h)
  PairedSpec paired = {};   ///< its confidence is also that of Welch's interval
};

/// The confidence of each interval. A study with one look gives every arm's interval the confidence
/// of `spec`; with several, all intervals of all looks hold together with that confidence.
double interval_confidence(const ComparisonSpec& spec, std::size_t arms);

/// A whole study: each arm against the baseline.
struct StudyComparison {
  std::string baseline_name;
  Description baseline;
  std::vector<ArmComparison> arms = {};  ///< in the order given
  std::size_t tested = 0;                ///< arms with a p: what the correction counts
  std::uint32_t testable = 0;  ///< arms with enough runs for a test: what the power counts
  ComparisonSpec spec = {};
};

/// Values of two arms by common seed, in the order of the baseline.
struct PairedRuns {
  std::vector<double> arm;
  std::vector<double> baseline;
};
PairedRuns pair_by_seed(const ArmRuns& arm, const ArmRuns& baseline);

/// Compares all arms with the baseline: over common seeds where there are two or more, by Welch's
/// test otherwise. DataError, with the arm's name, for an arm without runs, a value that is not
/// finite, or seeds that are repeated or not as many as values.
StudyComparison compare_arms(const ArmRuns& baseline, std::span<const ArmRuns> arms,
                             const ComparisonSpec& spec = {});

/// What each of the study's tests is asked to do.
PowerSpec power_of(const StudyComparison& study);

}  // namespace impart::statistics
