// Where the spread over seeds comes from, and what pairing takes away of it.

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/report/numbers.h"
#include "impart/report/sections.h"
#include "impart/statistics/variance.h"

namespace impart::report {
namespace {

/// A random stream that may have a seed of its own.
struct Stream {
  std::string_view key;
  std::string_view name;
};
constexpr std::array<Stream, 3> kStreams = {
    {{"seed.init", "initialisation"}, {"seed.order", "order"}, {"seed.augment", "augmentation"}}};

bool is_stream_key(std::string_view key) {
  return std::any_of(kStreams.begin(), kStreams.end(),
                     [&](const Stream& stream) { return stream.key == key; });
}

/// The streams that differ between the runs of an arm.
std::vector<std::string_view> free_streams(const ArmAnalysis& arm) {
  std::vector<std::string_view> names;
  for (const Stream& stream : kStreams) {
    const std::string_view seed = results::setting(arm.arm->settings, stream.key);
    if (seed.empty() || seed == "seed") names.push_back(stream.name);
  }
  return names;
}

results::SettingTexts other_than_streams(const ArmAnalysis& arm) {
  results::SettingTexts settings = arm.arm->settings;
  std::erase_if(settings, [](const auto& setting) { return is_stream_key(setting.first); });
  return settings;
}

/// Arms that differ in nothing but the streams that they fix.
struct StreamFamily {
  const ArmAnalysis* whole = nullptr;  ///< fixes none
  std::vector<const ArmAnalysis*> parts = {};
};

std::vector<StreamFamily> find_families(const GroupAnalysis& group) {
  std::vector<StreamFamily> families;
  for (const ArmAnalysis& whole : group.arms) {
    if (free_streams(whole).size() < kStreams.size()) continue;
    StreamFamily family{.whole = &whole};
    for (const ArmAnalysis& arm : group.arms) {
      const bool fixes_some = free_streams(arm).size() < kStreams.size();
      if (fixes_some && other_than_streams(arm) == other_than_streams(whole)) {
        family.parts.push_back(&arm);
      }
    }
    if (!family.parts.empty()) families.push_back(std::move(family));
  }
  return families;
}

std::string percent_text(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

std::vector<Cell> split_row(const ArmAnalysis& arm, const ArmAnalysis& whole) {
  const auto free = free_streams(arm);
  std::vector<Cell> row = {
      text_cell(arm.arm->name),
      text_cell(free.empty() ? "nothing" : fmt::format("{}", fmt::join(free, ", "))),
      count_cell(static_cast<double>(arm.metric.n)),
      arm.metric.n > 1 ? number_cell(arm.metric.std) : missing_cell()};
  const auto share = statistics::variance_share(arm.metric, whole.metric);
  if (&arm == &whole || !share) {
    row.insert(row.end(), {missing_cell(), missing_cell()});
    return row;
  }
  row.push_back({.text = percent_text(share->share), .value = share->share});
  row.push_back({.text = fmt::format("{} … {}", percent_text(share->interval.low),
                                     percent_text(share->interval.high)),
                 .value = share->interval.low});
  return row;
}

Table split_table(const Analysis& analysis, const GroupAnalysis& group,
                  const StreamFamily& family) {
  Table table{.caption = fmt::format("{}spread of {} by what differs between the runs of {}",
                                     caption_start(analysis, group), analysis.metric_name,
                                     family.whole->arm->name)};
  table.columns = {{"setting", false},
                   {"what differs", false, "between the runs of the setting"},
                   {"n", true, "runs"},
                   {"std", true, "standard deviation over runs (n − 1)"},
                   {"variance", true, "as a share of that of all streams together"},
                   {"95 % interval", true, "of the share, for normal results"}};
  table.rows.push_back(split_row(*family.whole, *family.whole));
  for (const ArmAnalysis* arm : family.parts) table.rows.push_back(split_row(*arm, *family.whole));
  return table;
}

/// What is left when each stream alone is taken away; "" unless there is an arm for each.
std::string sum_up(const StreamFamily& family) {
  double sum = 0;
  for (const Stream& stream : kStreams) {
    const auto alone = std::find_if(family.parts.begin(), family.parts.end(), [&](const auto* arm) {
      return free_streams(*arm) == std::vector<std::string_view>{stream.name};
    });
    if (alone == family.parts.end()) return "";
    const auto share = statistics::variance_share((*alone)->metric, family.whole->metric);
    if (!share) return "";
    sum += share->share;
  }
  return fmt::format(
      "Initialisation, order and augmentation alone come to {} of the variance of {}; the rest is "
      "how they act together, and chance.",
      percent_text(sum), family.whole->arm->name);
}

Table pairing_table(const Analysis& analysis, const GroupAnalysis& group) {
  Table table{.caption = fmt::format("{}what comparing by pairs with {} takes away",
                                     caption_start(analysis, group), group.baseline()->arm->name),
              .in_latex = false};
  table.columns = {{"setting", false},
                   {"pairs"},
                   {"std", true, "of the setting, over the seeds of the pairs"},
                   {"baseline std", true, "over the same seeds"},
                   {"correlation", true, "of the two, over seeds"},
                   {"std of differences"},
                   {"variance removed", true, "of a difference, by pairing"}};
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    if (arm->comparison == nullptr || !arm->comparison->paired) continue;
    const auto& pairing = arm->comparison->paired->pairing;
    if (!pairing || !pairing->removed) continue;
    table.rows.push_back(
        {text_cell(arm->arm->name),
         count_cell(static_cast<double>(arm->comparison->n)),
         number_cell(pairing->std_arm),
         number_cell(pairing->std_baseline),
         pairing->correlation ? number_cell(*pairing->correlation) : missing_cell(),
         number_cell(pairing->std_difference),
         {.text = percent_text(*pairing->removed), .value = *pairing->removed}});
  }
  return table;
}

}  // namespace

std::vector<Block> split_variance(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    for (const StreamFamily& family : find_families(group)) {
      blocks.emplace_back(split_table(analysis, group, family));
      const std::string sum = sum_up(family);
      if (!sum.empty()) blocks.emplace_back(Paragraph{sum});
    }
    if (!group.comparison) continue;
    Table pairing = pairing_table(analysis, group);
    if (!pairing.rows.empty()) blocks.emplace_back(std::move(pairing));
  }
  if (blocks.empty()) return blocks;
  blocks.insert(blocks.begin(),
                Paragraph{"Runs of one setting differ by their seeds. Where pairing removes a "
                          "share r of the variance, 1 − r of the seeds show the same difference."});
  return blocks;
}

}  // namespace impart::report
