// impart study --power: how many seeds a difference needs, by the runs so far.

#include "cli/study/power.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/terminal/terminal_text.h"
#include "cli/terminal/text_table.h"
#include "impart/core/error.h"
#include "impart/statistics/seeds_needed.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;
using statistics::ArmPower;

/// The question, and its answer for every arm.
struct PowerPlan {
  statistics::PowerSpec spec;
  std::vector<ArmPower> arms;
};

/// The runs of an arm that may be compared: not those that served to choose.
statistics::ArmRuns runs_of(const StudyLook& look, const std::string& arm) {
  statistics::ArmRuns runs{.name = arm, .values = {}};
  for (std::size_t i = 0; i < look.reports.size(); ++i) {
    const study::StudyRun& run = look.record.runs[i];
    if (run.arm != arm || run.purpose == study::RunPurpose::kSearch || !look.reports[i].value) {
      continue;
    }
    runs.values.push_back(*look.reports[i].value);
    runs.seeds.push_back(run.seed);
  }
  return runs;
}

PowerPlan plan_power(const StudyLook& look, double difference) {
  if (!look.record.baseline) {
    throw ConfigError(
        "--power is about differences to a baseline: mark an arm with baseline: true");
  }
  std::vector<statistics::ArmRuns> others;
  for (const study::StudyArm& arm : look.record.arms) {
    if (arm.name != *look.record.baseline) others.push_back(runs_of(look, arm.name));
  }
  const auto looks = look.record.growing ? look.record.growing->planned.size() : 1;
  const statistics::ComparisonSpec usual;
  PowerPlan plan{
      .spec = {.power = usual.power,
               .alpha = usual.alpha / static_cast<double>(looks),
               .arms = static_cast<std::uint32_t>(std::max<std::size_t>(others.size(), 1))},
      .arms = {}};
  plan.arms =
      statistics::seeds_needed(runs_of(look, *look.record.baseline), others, difference, plan.spec);
  return plan;
}

bool has_few_pairs(const ArmPower& arm) {
  return !arm.std;
}

std::string needed_text(const ArmPower& arm, const std::optional<std::uint64_t>& needed) {
  if (has_few_pairs(arm)) return "";
  return needed ? fmt::to_string(*needed) : "> 1000000";
}

std::string number_or_blank(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g}", *value) : "";
}

}  // namespace

void print_power(const StudyLook& look, double difference) {
  const PowerPlan plan = plan_power(look, difference);
  const std::string looks =
      look.record.growing ? fmt::format(", {} looks", look.record.growing->planned.size()) : "";
  answer(
      "To see a difference of {:g} in {} with probability {:g}, tested at {:.2g} ({} arm{}{}):\n",
      difference, look.record.metric, plan.spec.power, plan.spec.alpha / plan.spec.arms,
      plan.spec.arms, plan.spec.arms == 1 ? "" : "s", looks);
  TextTable table({"arm", "pairs", "std", "seen now", "seeds", "at worst"});
  for (const ArmPower& arm : plan.arms) {
    table.add({harmless(arm.name), fmt::to_string(arm.pairs), number_or_blank(arm.std),
               number_or_blank(arm.detectable), needed_text(arm, arm.needed),
               needed_text(arm, arm.needed_at_worst)});
  }
  answer("{}", table.text());
  if (!std::all_of(plan.arms.begin(), plan.arms.end(), has_few_pairs)) {
    answer(
        "std: of the paired differences; seen now: the smallest difference that these pairs show; "
        "at worst: if the std is as large as it may be (upper {:g} % limit)\n",
        100 * statistics::kWorstCase);
  }
  if (std::any_of(plan.arms.begin(), plan.arms.end(), has_few_pairs)) {
    answer(
        "Where seeds are blank there are fewer than {} pairs with the baseline '{}': run the "
        "study with more seeds first\n",
        statistics::kFewestPairs, harmless(*look.record.baseline));
  }
}

void print_power_json(const StudyLook& look, double difference) {
  const PowerPlan plan = plan_power(look, difference);
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json arms = Json::array();
  for (const ArmPower& arm : plan.arms) {
    arms.push_back({{"name", arm.name},
                    {"pairs", arm.pairs},
                    {"std", or_null(arm.std)},
                    {"detectable", or_null(arm.detectable)},
                    {"seeds", or_null(arm.needed)},
                    {"seeds_at_worst", or_null(arm.needed_at_worst)}});
  }
  const Json json = {{"name", look.record.name},
                     {"metric", look.record.metric},
                     {"baseline", *look.record.baseline},
                     {"difference", difference},
                     {"power", plan.spec.power},
                     {"level", plan.spec.alpha / plan.spec.arms},
                     {"arms", arms}};
  answer("{}\n", json.dump(1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace impart::cli
