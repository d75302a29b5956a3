// How often a study without any effect claims one, by simulation. At most 5 % of studies may.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/statistics/comparison.h"
#include "impart/statistics/holm.h"
#include "impart/statistics/power.h"

namespace impart::statistics {
namespace {

constexpr double kAlpha = 0.05;
constexpr std::size_t kArms = 12;

/// Three standard errors of a share near 5 % of so many studies.
double noise(int studies) {
  return 3 * std::sqrt(kAlpha * (1 - kAlpha) / studies);
}

struct NullStudy {
  ArmRuns baseline;
  std::vector<ArmRuns> arms;
};

/// Arms that are all alike: each seed moves all its runs together, each run adds noise of its own,
/// and all are compared with the same baseline. `effect` is added to the first arm.
NullStudy make_study(std::size_t seeds, RandomStream& random, double effect = 0) {
  NullStudy study{.baseline = {.name = "vanilla", .values = {}},
                  .arms = std::vector<ArmRuns>(kArms)};
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    const double shared = 90 + 0.5 * random.normal();
    study.baseline.values.push_back(shared + 0.2 * random.normal());
    study.baseline.seeds.push_back(seed);
    for (ArmRuns& arm : study.arms) {
      arm.values.push_back(shared + 0.2 * random.normal());
      arm.seeds.push_back(seed);
    }
    study.arms[0].values.back() += effect;
  }
  return study;
}

/// Share of studies in which Holm's correction lets at least one arm pass.
template <class PValue>
double family_error(std::size_t seeds, int studies, PValue p_value) {
  RandomStream random({.seed = seeds, .purpose = Purpose("family-error-test")});
  int wrong = 0;
  for (int i = 0; i < studies; ++i) {
    const NullStudy study = make_study(seeds, random);
    std::vector<double> p;
    for (const ArmRuns& arm : study.arms) p.push_back(p_value(arm.values, study.baseline.values));
    const auto adjusted = adjust_by_holm(p);
    wrong += *std::min_element(adjusted.begin(), adjusted.end()) <= kAlpha ? 1 : 0;
  }
  return static_cast<double>(wrong) / studies;
}

using Values = std::vector<double>;

TEST(FamilyError, OfThePairedTTestIsKept) {
  const double error = family_error(10, 2000, [](const Values& arm, const Values& baseline) {
    return *student_test(paired_differences(arm, baseline)).p;
  });
  EXPECT_LE(error, kAlpha + noise(2000));
  EXPECT_GE(error, 0.02) << "a test that never errs has no power";
}

TEST(FamilyError, OfSignFlipsIsKept) {
  const auto sign_flip = [](const Values& arm, const Values& baseline) {
    return sign_flip_test(paired_differences(arm, baseline)).p;
  };
  EXPECT_LE(family_error(10, 2000, sign_flip), kAlpha + noise(2000));
  const double error = family_error(14, 2000, sign_flip);
  EXPECT_LE(error, kAlpha + noise(2000));
  EXPECT_GE(error, 0.02);
}

TEST(FamilyError, OfWilcoxonIsKept) {
  EXPECT_LE(family_error(10, 2000,
                         [](const Values& arm, const Values& baseline) {
                           return wilcoxon_test(paired_differences(arm, baseline)).p;
                         }),
            kAlpha + noise(2000));
}

TEST(FamilyError, OfWelchIsKept) {
  EXPECT_LE(family_error(10, 2000,
                         [](const Values& arm, const Values& baseline) {
                           return *welch_test(arm, baseline).p;
                         }),
            kAlpha + noise(2000));
}

TEST(FamilyError, WithoutCorrectionWouldBeMany) {
  RandomStream random({.seed = 1, .purpose = Purpose("family-error-test")});
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    const NullStudy study = make_study(10, random);
    bool any = false;
    for (const ArmRuns& arm : study.arms) {
      any |= *student_test(paired_differences(arm.values, study.baseline.values)).p <= kAlpha;
    }
    wrong += any ? 1 : 0;
  }
  EXPECT_GE(wrong, 60);
}

/// Share of studies for which `condition` holds of the whole comparison.
template <class Condition>
double share_of_studies(std::size_t seeds, double effect, Condition condition) {
  constexpr int kStudies = 300;
  RandomStream random({.seed = seeds, .purpose = Purpose("whole-study-test")});
  int count = 0;
  for (int i = 0; i < kStudies; ++i) {
    const NullStudy study = make_study(seeds, random, effect);
    const auto comparison =
        compare_arms(study.baseline, study.arms, {.paired = {.resamples = 1, .flips = 1}});
    count += condition(comparison) ? 1 : 0;
  }
  return static_cast<double>(count) / kStudies;
}

TEST(WholeStudies, WithoutEffectSeldomClaimOne) {
  for (const std::size_t seeds : {10u, 14u}) {
    const double wrong = share_of_studies(seeds, 0, [](const StudyComparison& study) {
      return std::any_of(study.arms.begin(), study.arms.end(), [](const ArmComparison& arm) {
        return arm.claim == Claim::kBetter || arm.claim == Claim::kWorse;
      });
    });
    EXPECT_LE(wrong, kAlpha + noise(300)) << seeds << " seeds";
  }
}

TEST(WholeStudies, FindTheDifferenceThatTheyPromiseToFind) {
  // Differences have a standard deviation of 0.2 · √2.
  for (const std::size_t seeds : {10u, 14u}) {
    const double effect = detectable_difference(seeds, 0.2 * std::sqrt(2.0), {.arms = kArms});
    const double found = share_of_studies(seeds, effect, [](const StudyComparison& study) {
      return study.arms[0].claim == Claim::kBetter;
    });
    EXPECT_GE(found, 0.8 - 0.05 - 0.07) << seeds << " seeds";  // 0.07: three standard errors
    EXPECT_LE(found, 0.8 + 0.07) << seeds << " seeds";
  }
}

}  // namespace
}  // namespace impart::statistics
