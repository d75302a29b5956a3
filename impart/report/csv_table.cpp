#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/render.h"

namespace impart::report {
namespace {

/// As many digits as read back to the same number; empty for what is not known.
std::string number_field(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string optional_field(const std::optional<double>& value) {
  return value ? number_field(*value) : "";
}

void add_description(const statistics::Description& values, std::vector<std::string>& fields) {
  for (const double value : {values.mean, values.std, values.min, values.lower_quartile,
                             values.median, values.upper_quartile, values.max}) {
    fields.push_back(number_field(value));
  }
}

std::string_view claim_name(const ArmAnalysis& arm) {
  if (arm.is_baseline) return "baseline";
  if (arm.comparison == nullptr) return "";
  switch (arm.comparison->claim) {
    case statistics::Claim::kBetter:
      return "better";
    case statistics::Claim::kWorse:
      return "worse";
    case statistics::Claim::kUnclear:
      return "unclear";
    case statistics::Claim::kNone:
      break;
  }
  return "untested";
}

void add_comparison(const ArmAnalysis& arm, std::vector<std::string>& fields) {
  if (arm.comparison == nullptr) {
    fields.insert(fields.end(), 8, "");
    return;
  }
  const statistics::ArmComparison& compared = *arm.comparison;
  fields.push_back(number_field(compared.difference));
  fields.push_back(compared.interval ? number_field(compared.interval->low) : "");
  fields.push_back(compared.interval ? number_field(compared.interval->high) : "");
  fields.push_back(optional_field(compared.p));
  fields.push_back(optional_field(compared.adjusted_p));
  fields.push_back(for_csv(statistics::name_of(compared.test)));
  fields.push_back(fmt::format("{}", compared.n));
  fields.push_back(optional_field(compared.detectable));
}

constexpr const char* kCosts[] = {"best_epoch",       "epochs",
                                  "seconds_total",    "seconds_train",
                                  "seconds_tracking", "seconds_partition",
                                  "seconds_exchange", "seconds_importance_pass",
                                  "seconds_eval",     "examples_moved",
                                  "bytes_disk",       "bytes_network",
                                  "messages",         "peak_stored_examples",
                                  "visits",           "visits_hidden",
                                  "visits_refreshed", "visits_max_over_mean"};

std::string settings_text(const results::SettingTexts& settings) {
  std::string text;
  for (const auto& [key, value] : settings) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

}  // namespace

std::string render_csv(const Analysis& analysis) {
  std::string text =
      "group,setting,settings,metric,n,mean,std,min,lower_quartile,median,upper_quartile,max,"
      "companion_mean,companion_std,claim,difference,difference_low,difference_high,p,holm_p,test,"
      "compared_n,detectable_difference";
  for (const char* cost : kCosts) text += fmt::format(",{}", cost);
  text += "\n";
  for (const GroupAnalysis& group : analysis.groups) {
    for (const ArmAnalysis& arm : group.arms) {
      std::vector<std::string> fields = {for_csv(group.group->name), for_csv(arm.arm->name),
                                         for_csv(settings_text(arm.arm->settings)),
                                         for_csv(analysis.results->metric),
                                         fmt::format("{}", arm.metric.n)};
      add_description(arm.metric, fields);
      fields.push_back(arm.companion ? number_field(arm.companion->mean) : "");
      fields.push_back(arm.companion ? number_field(arm.companion->std) : "");
      fields.emplace_back(claim_name(arm));
      add_comparison(arm, fields);
      for (const char* cost : kCosts) fields.push_back(number_field(mean_number(*arm.arm, cost)));
      text += fmt::format("{}\n", fmt::join(fields, ","));
    }
  }
  return text;
}

}  // namespace impart::report
