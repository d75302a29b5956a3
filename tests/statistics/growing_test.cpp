// How often a study that adds seeds until its intervals are narrow claims an effect that is not
// there, by simulation. At most 5 % of studies may. IMPART_NULL_STUDIES says how many (300).

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/statistics/looks.h"

namespace impart::statistics {
namespace {

constexpr double kAllowed = 0.05;
constexpr std::size_t kOthers = 3;
constexpr double kUntil = 1;

int studies_to_simulate() {
  const char* wanted = std::getenv("IMPART_NULL_STUDIES");
  return wanted != nullptr ? std::max(1, std::atoi(wanted)) : 300;
}

/// Arms without any effect. What a seed does to all arms is ten times what it does to each, and how
/// noisy a study is differs so much that any of the looks may be the one that ends it.
class GrowingStudy {
 public:
  explicit GrowingStudy(std::uint64_t number)
      : random_({.seed = number, .purpose = Purpose("growing-test")}),
        noise_(std::exp(std::log(0.2) + random_.uniform() * std::log(30.0))) {
    baseline_.name = "vanilla";
    for (ArmRuns& arm : arms_) arm.name = "arm";
  }

  void grow_to(std::uint64_t seeds) {
    while (baseline_.values.size() < seeds) {
      const double shared = 90 + 10 * noise_ * random_.normal();
      add(baseline_, shared);
      for (ArmRuns& arm : arms_) add(arm, shared);
    }
  }

  bool is_known(std::uint32_t looks) const {
    return widest_interval(baseline_, arms_, {.looks = looks})->half_width < kUntil;
  }

  bool errs_by_interval(std::uint32_t looks) const {
    const double confidence = interval_confidence({.looks = looks}, kOthers);
    return std::any_of(arms_.begin(), arms_.end(), [&](const ArmRuns& arm) {
      const auto differences = paired_differences(arm.values, baseline_.values);
      return !mean_interval(differences, {.confidence = confidence}).contains(0);
    });
  }

  bool errs_by_claim(std::uint32_t looks) const {
    const auto study =
        compare_arms(baseline_, arms_, {.looks = looks, .paired = {.resamples = 1, .flips = 5000}});
    return std::any_of(study.arms.begin(), study.arms.end(), [](const ArmComparison& arm) {
      return arm.claim == Claim::kBetter || arm.claim == Claim::kWorse;
    });
  }

 private:
  void add(ArmRuns& arm, double shared) {
    arm.seeds.push_back(arm.values.size());
    arm.values.push_back(shared + noise_ * random_.normal());
  }

  RandomStream random_;
  double noise_;
  ArmRuns baseline_;
  std::vector<ArmRuns> arms_ = std::vector<ArmRuns>(kOthers);
};

TEST(GrowingStudies, WithoutEffectSeldomClaimOneWhereTheyStop) {
  const auto looks = plan_looks(10, 200);
  const auto count = static_cast<std::uint32_t>(looks.size());
  const int studies = studies_to_simulate();
  std::map<std::uint64_t, int> stops;
  int wrong_intervals = 0;
  int wrong_claims = 0;
  for (int i = 0; i < studies; ++i) {
    GrowingStudy study(static_cast<std::uint64_t>(i));
    for (const std::uint64_t seeds : looks) {
      study.grow_to(seeds);
      if (!study.is_known(count) && seeds != looks.back()) continue;
      ++stops[seeds];
      wrong_intervals += study.errs_by_interval(count) ? 1 : 0;
      wrong_claims += study.errs_by_claim(count) ? 1 : 0;
      break;
    }
  }
  EXPECT_LE(wrong_intervals, kAllowed * studies);
  EXPECT_LE(wrong_claims, kAllowed * studies);
  for (const std::uint64_t seeds : looks) {
    EXPECT_GE(stops[seeds], studies / 50) << "few studies stop after " << seeds;
  }
  RecordProperty("wrong_intervals", wrong_intervals);
  RecordProperty("wrong_claims", wrong_claims);
}

// Whoever stops as soon as something looks like an effect errs most.
TEST(GrowingStudies, AreNotFooledByStoppingWhenItSuits) {
  const auto looks = plan_looks(10, 200);
  const int studies = studies_to_simulate();
  int wrong = 0;
  int wrong_without_correction = 0;
  for (int i = 0; i < studies; ++i) {
    GrowingStudy study(static_cast<std::uint64_t>(i) + 1'000'000);
    bool errs = false;
    bool errs_without_correction = false;
    for (const std::uint64_t seeds : looks) {
      study.grow_to(seeds);
      errs |= study.errs_by_interval(static_cast<std::uint32_t>(looks.size()));
      errs_without_correction |= study.errs_by_interval(1);
    }
    wrong += errs ? 1 : 0;
    wrong_without_correction += errs_without_correction ? 1 : 0;
  }
  EXPECT_LE(wrong, kAllowed * studies);
  EXPECT_GE(wrong_without_correction, 3 * kAllowed * studies);
  RecordProperty("wrong", wrong);
  RecordProperty("wrong_without_correction", wrong_without_correction);
}

}  // namespace
}  // namespace impart::statistics
