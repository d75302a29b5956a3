#include "impart/statistics/verdict.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::statistics {
namespace {

/// Runs over seeds 100, 101, ...: what the seed gives, an effect, and noise of std 0.1.
ArmRuns make_arm(const std::string& name, double effect, std::size_t seeds, std::uint32_t number) {
  ArmRuns arm{.name = name, .values = {}};
  RandomStream of_seeds({.seed = 1, .purpose = Purpose("verdict-test")});
  RandomStream own({.seed = 1, .purpose = Purpose("verdict-test"), .epoch = number + 1});
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    arm.values.push_back(90 + of_seeds.normal() + effect + 0.1 * own.normal());
    arm.seeds.push_back(100 + seed);
  }
  return arm;
}

/// Arms a0, a1, ... with these effects.
std::vector<ArmRuns> make_arms(const std::vector<double>& effects, std::size_t seeds) {
  std::vector<ArmRuns> arms;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    arms.push_back(make_arm("a" + std::to_string(i), effects[i], seeds, number));
  }
  return arms;
}

ArmRuns make_baseline(std::size_t seeds) {
  return make_arm("vanilla", 0, seeds, 0);
}

std::string verdict_of(const ArmRuns& baseline, const std::vector<ArmRuns>& arms,
                       const ComparisonSpec& spec = {}, const VerdictSpec& words = {}) {
  std::string text;
  for (const std::string& sentence : write_verdict(compare_arms(baseline, arms, spec), words)) {
    text += sentence + "\n";
  }
  return text;
}

void expect_says(const std::string& verdict, const std::string& part) {
  EXPECT_NE(verdict.find(part), std::string::npos) << "no '" << part << "' in:\n" << verdict;
}

void expect_silent(const std::string& verdict, const std::string& part) {
  EXPECT_EQ(verdict.find(part), std::string::npos) << "'" << part << "' in:\n" << verdict;
}

TEST(Comparison, PairsRunsBySeedWhateverTheirOrder) {
  const ArmRuns baseline{.name = "vanilla", .values = {1, 2, 3}, .seeds = {7, 8, 9}};
  const std::vector<ArmRuns> arms{{.name = "a", .values = {30, 10, 20, 99}, .seeds = {9, 7, 8, 5}}};
  const auto study = compare_arms(baseline, arms);
  EXPECT_EQ(study.arms[0].n, 3u);
  EXPECT_DOUBLE_EQ(study.arms[0].difference, 18);
  EXPECT_DOUBLE_EQ(study.arms[0].paired->median_difference, 18);
  EXPECT_EQ(study.arms[0].values.n, 4u);
  EXPECT_FALSE(study.arms[0].lacks_seeds);
}

TEST(Comparison, ChoosesTheTestByNumbersOfSeedsAndArms) {
  EXPECT_EQ(choose_paired_test(1, 1, 0.05), TestKind::kNone);
  EXPECT_EQ(choose_paired_test(5, 1, 0.05), TestKind::kStudent);
  EXPECT_EQ(choose_paired_test(10, 1, 0.05), TestKind::kSignFlip);
  EXPECT_EQ(choose_paired_test(10, 4, 0.05), TestKind::kSignFlip);
  EXPECT_EQ(choose_paired_test(10, 12, 0.05), TestKind::kStudent);
  EXPECT_EQ(choose_paired_test(10, 36, 0.05), TestKind::kStudent);
  EXPECT_EQ(choose_paired_test(20, 36, 0.05), TestKind::kSignFlip);
}

TEST(Comparison, UsesWelchWithoutCommonSeeds) {
  ArmRuns other = make_arm("other seeds", 5, 6, 1);
  for (std::uint64_t& seed : other.seeds) seed += 1000;
  ArmRuns unknown = make_arm("unknown seeds", 5, 6, 2);
  unknown.seeds.clear();
  const auto study = compare_arms(make_baseline(6), std::vector{other, unknown});
  for (const ArmComparison& arm : study.arms) {
    EXPECT_EQ(arm.test, TestKind::kWelch) << arm.name;
    EXPECT_EQ(arm.claim, Claim::kBetter) << arm.name;
    EXPECT_GT(*arm.detectable, 0.5) << arm.name;
  }
}

TEST(Comparison, RefusesBrokenArmsByName) {
  const auto message = [](const ArmRuns& arm) -> std::string {
    try {
      compare_arms(make_baseline(3), std::vector{arm});
    } catch (const DataError& error) {
      return error.what();
    }
    return "no DataError";
  };
  EXPECT_EQ(message({.name = "a", .values = {}}), "a has no runs");
  EXPECT_EQ(message({.name = "a", .values = {1, 2}, .seeds = {1}}), "a has 2 values but 1 seeds");
  EXPECT_EQ(message({.name = "a", .values = {1, 2}, .seeds = {5, 5}}),
            "a has two runs with seed 5");
  expect_says(message({.name = "a", .values = {1, std::numeric_limits<double>::quiet_NaN()}}),
              "value 1 of 2 of a is nan");
}

TEST(Verdict, SaysThatNoneIsBetterAndWhatWouldHaveBeenSeen) {
  const auto verdict = verdict_of(make_baseline(10), make_arms(std::vector<double>(36, 0.0), 10));
  expect_says(verdict,
              "Of 36 settings none is better than vanilla after correction; none is worse.");
  expect_says(verdict, "With n = 10 a difference of 0.2");  // 1.784 · 0.1 · √2 = 0.252
  expect_says(verdict, " points would have been seen with probability 0.8.");
  expect_says(verdict, "If the largest gain (a");
  expect_says(verdict, "paired t-test, Holm's correction, which takes differences to be normal");
  expect_silent(verdict, "too few to rely on");
}

TEST(Verdict, NamesTheBetterAndTheWorse) {
  const auto arms = make_arms({0, 1, 0, -2, 0.8, 0}, 12);
  const auto verdict = verdict_of(make_baseline(12), arms);
  expect_says(verdict, "Of 6 settings 2 are better than vanilla after correction: a1 (+");
  expect_says(verdict, ", a4 (+");
  expect_says(verdict, "; 1 is worse: a3 (-");
  expect_says(verdict, "Test: sign flips of paired seeds, Holm's correction.");
  expect_silent(verdict, "If the largest gain");
}

TEST(Verdict, TurnsAroundWhereLowerIsBetter) {
  const auto arms = make_arms({0, 1, -2}, 12);
  const auto verdict = verdict_of(make_baseline(12), arms, {.better = Better::kLower});
  expect_says(verdict, "Of 3 settings 1 is better than vanilla after correction: a2 (-");
  expect_says(verdict, "; 1 is worse: a1 (+");
}

TEST(Verdict, NamesAFewAndCountsTheRest) {
  const auto arms = make_arms(std::vector<double>(9, -3.0), 14);
  const auto verdict = verdict_of(make_baseline(14), arms, {}, {.unit = "%", .most_names = 2});
  expect_says(verdict, "; 9 are worse: ");
  expect_says(verdict, " and 7 more.");
  expect_says(verdict, " %, p = ");
}

TEST(Verdict, OfOneArmGivesItsInterval) {
  const auto verdict = verdict_of(make_baseline(12), make_arms({0.5}, 12));
  expect_says(verdict, "a0 is better than vanilla: the difference is +0.");
  expect_says(verdict, "(95 % interval +0.");
  const auto nothing = verdict_of(make_baseline(12), make_arms({0.01}, 12));
  expect_says(nothing,
              "There is no evidence that a0 is better or worse than vanilla: the difference is ");
  expect_says(nothing, "Test: sign flips of paired seeds.");
}

TEST(Verdict, ClaimsNothingFromOneSeed) {
  const auto verdict = verdict_of(make_baseline(1), make_arms({5, -5}, 1));
  EXPECT_EQ(verdict,
            "With one seed no claim is possible: a single run does not tell a difference from "
            "chance.\n");
}

TEST(Verdict, SaysThatFewSeedsAreFew) {
  const auto verdict = verdict_of(make_baseline(3), make_arms({0, 0.1, 0}, 3));
  expect_says(verdict, "Of 3 settings none is better");
  expect_says(verdict, "3 seeds are too few to rely on");
  expect_silent(verdict, "If the largest gain");
}

TEST(Verdict, SaysThatSeedsCannotBePaired) {
  auto arms = make_arms({0, 0}, 8);
  for (ArmRuns& arm : arms) arm.seeds.clear();
  const auto verdict = verdict_of(make_baseline(8), arms);
  expect_says(verdict, "Welch's t-test, Holm's correction, as seeds cannot be paired.");
  expect_silent(verdict, "sign flips");
}

TEST(Verdict, SaysWhatIsLeftOutOrIncomplete) {
  auto arms = make_arms({0, 0, 0}, 10);
  arms[1].values.resize(1);
  arms[1].seeds.resize(1);
  arms[2].values.resize(8);
  arms[2].seeds.resize(8);
  const auto verdict = verdict_of(make_baseline(10), arms);
  expect_says(verdict, "Of 2 settings that can be compared none is better");
  expect_says(verdict, "With n = 8 to 10 a difference");
  expect_says(verdict,
              "No claim is possible about 1 setting with a single run or without spread: a1.");
  expect_says(verdict, "1 setting is compared over fewer seeds than vanilla has: a2.");
}

TEST(Verdict, SaysWhatChanceAloneLooksLike) {
  // 60 arms without effect: some look significant, none is after correction.
  const auto verdict = verdict_of(make_baseline(10), make_arms(std::vector<double>(60, 0.0), 10));
  expect_says(verdict, "none is better than vanilla after correction; none is worse.");
  expect_says(verdict, "Without correction ");
  expect_says(verdict, "among 60 settings without any effect about 3 would.");
}

TEST(Verdict, OfTheBaselineAgainstItselfIsNothing) {
  ArmRuns same = make_baseline(10);
  same.name = "the same";
  const auto verdict = verdict_of(make_baseline(10), {same});
  expect_says(verdict,
              "no evidence that the same is better or worse than vanilla: the difference is +0.00");
  expect_silent(verdict, "would have been seen");
  EXPECT_EQ(verdict_of(make_baseline(10), {}), "There is nothing to compare with vanilla.\n");
}

}  // namespace
}  // namespace impart::statistics
