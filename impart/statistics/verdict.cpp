#include "impart/statistics/verdict.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impart/statistics/describe.h"

namespace impart::statistics {
namespace {

using Arms = std::vector<const ArmComparison*>;

/// Below this many seeds the verdict says that they are few.
constexpr std::size_t kFewSeeds = 5;

template <class Condition>
Arms select(const StudyComparison& study, Condition condition) {
  Arms arms;
  for (const ArmComparison& arm : study.arms) {
    if (condition(arm)) arms.push_back(&arm);
  }
  return arms;
}

Arms with_claim(const StudyComparison& study, Claim claim) {
  Arms arms = select(study, [&](const ArmComparison& arm) { return arm.claim == claim; });
  std::stable_sort(arms.begin(), arms.end(), [](const ArmComparison* a, const ArmComparison* b) {
    return std::abs(a->difference) > std::abs(b->difference);
  });
  return arms;
}

/// How much better the arm is than the baseline; negative if it is worse.
double gain_of(const ArmComparison& arm, const StudyComparison& study) {
  return study.spec.better == Better::kHigher ? arm.difference : -arm.difference;
}

bool is_paired(const ArmComparison& arm) {
  return arm.test == TestKind::kSignFlip || arm.test == TestKind::kStudent;
}

/// "1 setting", "36 settings".
std::string count_of(std::size_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

/// Two decimals, or two digits where that would be 0.00.
std::string number_text(double value, bool with_sign) {
  const bool small = value != 0 && std::abs(value) < 0.095;
  if (with_sign) return small ? fmt::format("{:+.2g}", value) : fmt::format("{:+.2f}", value);
  return small ? fmt::format("{:.2g}", value) : fmt::format("{:.2f}", value);
}

std::string p_text(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.2g}", p);
}

class VerdictWriter {
 public:
  VerdictWriter(const StudyComparison& study, const VerdictSpec& spec)
      : study_(study),
        unit_(spec.unit.empty() ? "" : " " + spec.unit),
        most_names_(std::max<std::size_t>(spec.most_names, 1)),
        tested_(select(study, [](const ArmComparison& arm) { return arm.p.has_value(); })) {}

  std::vector<std::string> write() {
    if (study_.arms.empty()) {
      return {fmt::format("There is nothing to compare with {}.", study_.baseline_name)};
    }
    if (tested_.empty()) {
      say_no_claim();
      return sentences_;
    }
    study_.arms.size() == 1 ? say_about_the_one() : say_about_all();
    say_detectable();
    say_uncorrected();
    say_seeds_needed();
    say_few_seeds();
    say_tests();
    say_looks();
    say_left_out();
    return sentences_;
  }

 private:
  void say_no_claim() {
    const bool one_run = std::all_of(study_.arms.begin(), study_.arms.end(),
                                     [](const ArmComparison& arm) { return arm.n < 2; });
    if (one_run || study_.baseline.n < 2) {
      sentences_.push_back(
          "With one seed no claim is possible: a single run does not tell a difference from "
          "chance.");
    } else {
      sentences_.push_back("No claim is possible: the results have no spread to judge by.");
    }
  }

  void say_about_the_one() {
    const ArmComparison& arm = *tested_.front();
    const std::string claim =
        arm.claim == Claim::kUnclear
            ? fmt::format("There is no evidence that {} is better or worse than {}", arm.name,
                          study_.baseline_name)
            : fmt::format("{} is {} than {}", arm.name,
                          arm.claim == Claim::kBetter ? "better" : "worse", study_.baseline_name);
    sentences_.push_back(fmt::format("{}: the difference is {}{} ({:g} % interval {} to {}, {}).",
                                     claim, number_text(arm.difference, true), unit_,
                                     100 * study_.spec.paired.confidence,
                                     number_text(arm.interval->low, true),
                                     number_text(arm.interval->high, true), p_text(*arm.p)));
  }

  void say_about_all() {
    const Arms better = with_claim(study_, Claim::kBetter);
    const Arms worse = with_claim(study_, Claim::kWorse);
    const std::string whom =
        tested_.size() == study_.arms.size()
            ? count_of(tested_.size(), "setting")
            : fmt::format("{} that can be compared", count_of(tested_.size(), "setting"));
    std::string text = fmt::format("Of {} {} better than {} after correction", whom,
                                   verb(better.size()), study_.baseline_name);
    if (!better.empty()) text += ": " + list(better);
    text += fmt::format("; {} worse", verb(worse.size()));
    if (!worse.empty()) text += ": " + list(worse);
    sentences_.push_back(text + ".");
  }

  /// The power of the study, by its typical (median) arm.
  void say_detectable() {
    std::vector<double> detectable;
    for (const ArmComparison* arm : tested_) {
      if (arm->detectable) detectable.push_back(*arm->detectable);
    }
    if (detectable.empty()) return;
    std::sort(detectable.begin(), detectable.end());
    sentences_.push_back(fmt::format(
        "With {} a difference of {}{} would have been seen with probability {:g}.", sizes(),
        number_text(quantile_of_sorted(detectable, 0.5), false), unit_, study_.spec.power));
  }

  /// What a reader without correction would have believed, and what chance alone gives.
  void say_uncorrected() {
    std::size_t better = 0;
    std::size_t worse = 0;
    std::size_t claimed = 0;
    for (const ArmComparison* arm : tested_) {
      if (arm->claim != Claim::kUnclear) ++claimed;
      if (*arm->p > study_.spec.alpha) continue;
      ++(gain_of(*arm, study_) > 0 ? better : worse);
    }
    if (better + worse == claimed) return;
    sentences_.push_back(fmt::format(
        "Without correction {} would look better and {} worse; among {} settings without any "
        "effect about {:.2g} would.",
        better, worse, tested_.size(), study_.spec.alpha * static_cast<double>(tested_.size())));
  }

  void say_seeds_needed() {
    const ArmComparison* best = nullptr;
    for (const ArmComparison* arm : tested_) {
      if (arm->claim == Claim::kBetter) return;
      if (!is_paired(*arm) || gain_of(*arm, study_) <= 0) continue;
      if (best == nullptr || gain_of(*arm, study_) > gain_of(*best, study_)) best = arm;
    }
    if (best == nullptr || !best->detectable || best->n < kFewSeeds) return;
    const auto seeds = pairs_needed(best->difference, best->paired->std, power_of(study_));
    if (!seeds || *seeds <= best->n) return;
    sentences_.push_back(fmt::format(
        "If the largest gain ({}, {}{}) is real, {} seeds would show it with probability {:g}.",
        best->name, number_text(best->difference, true), unit_, *seeds, study_.spec.power));
  }

  void say_few_seeds() {
    const auto [fewest, most] = range_of_n();
    if (fewest >= kFewSeeds) return;
    sentences_.push_back(fmt::format(
        "{} are too few to rely on: the spread itself is hardly known, and no difference seen does "
        "not mean that there is none.",
        fewest == most ? count_of(fewest, "seed") : fmt::format("{} to {} seeds", fewest, most)));
  }

  void say_tests() {
    const auto used = [&](TestKind kind) {
      return std::any_of(tested_.begin(), tested_.end(),
                         [&](const ArmComparison* arm) { return arm->test == kind; });
    };
    const char* holm = study_.tested > 1 ? ", Holm's correction" : "";
    if (used(TestKind::kSignFlip)) {
      sentences_.push_back(fmt::format("Test: sign flips of paired seeds{}.", holm));
    }
    if (used(TestKind::kStudent)) {
      sentences_.push_back(fmt::format(
          "Test: paired t-test{}, which takes differences to be normal; there are too few seeds "
          "for a test that does not.",
          holm));
    }
    if (used(TestKind::kWelch)) {
      sentences_.push_back(fmt::format("Test: Welch's t-test{}, as seeds cannot be paired.", holm));
    }
  }

  void say_looks() {
    if (study_.spec.looks == 1) return;
    sentences_.push_back(
        fmt::format("Seeds were added as the results came in: claims are corrected for {} planned "
                    "looks, and intervals hold for all looks and settings together.",
                    study_.spec.looks));
  }

  void say_left_out() {
    const Arms untested =
        select(study_, [](const ArmComparison& arm) { return arm.claim == Claim::kNone; });
    if (!untested.empty()) {
      sentences_.push_back(
          fmt::format("No claim is possible about {} with a single run or without "
                      "spread: {}.",
                      count_of(untested.size(), "setting"), names(untested)));
    }
    const Arms lacking = select(
        study_, [](const ArmComparison& arm) { return arm.lacks_seeds && arm.p.has_value(); });
    if (!lacking.empty()) {
      sentences_.push_back(fmt::format(
          "{} compared over fewer seeds than {} has: {}.",
          lacking.size() == 1 ? "1 setting is" : fmt::format("{} settings are", lacking.size()),
          study_.baseline_name, names(lacking)));
    }
  }

  /// "none is", "1 is", "2 are".
  static std::string verb(std::size_t count) {
    if (count == 0) return "none is";
    return fmt::format("{} {}", count, count == 1 ? "is" : "are");
  }

  std::string list(const Arms& arms) const {
    return join(arms, [&](const ArmComparison& arm) {
      return fmt::format("{} ({}{}, {})", arm.name, number_text(arm.difference, true), unit_,
                         p_text(*arm.adjusted_p));
    });
  }

  std::string names(const Arms& arms) const {
    return join(arms, [](const ArmComparison& arm) { return arm.name; });
  }

  template <class Text>
  std::string join(const Arms& arms, Text text) const {
    std::string result;
    const std::size_t shown = std::min(arms.size(), most_names_);
    for (std::size_t i = 0; i < shown; ++i) result += (i == 0 ? "" : ", ") + text(*arms[i]);
    if (shown < arms.size()) result += fmt::format(" and {} more", arms.size() - shown);
    return result;
  }

  std::pair<std::size_t, std::size_t> range_of_n() const {
    const auto [fewest, most] = std::minmax_element(
        tested_.begin(), tested_.end(), [](const auto* a, const auto* b) { return a->n < b->n; });
    return {(*fewest)->n, (*most)->n};
  }

  /// "n = 10" or "n = 8 to 10".
  std::string sizes() const {
    const auto [fewest, most] = range_of_n();
    return fewest == most ? fmt::format("n = {}", fewest)
                          : fmt::format("n = {} to {}", fewest, most);
  }

  const StudyComparison& study_;
  std::string unit_;
  std::size_t most_names_;
  Arms tested_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> write_verdict(const StudyComparison& study, const VerdictSpec& spec) {
  return VerdictWriter(study, spec).write();
}

}  // namespace impart::statistics
