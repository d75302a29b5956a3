#include "impart/config/rules.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "impart/config/rules/rules_by_topic.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include "impart/data/datasets.h"

namespace impart::config {
namespace {

std::vector<Rule> gather_rules() {
  std::vector<Rule> rules;
  for (const auto topic :
       {run_rules(), data_rules(), worker_rules(), store_rules(), placement_rules()}) {
    rules.insert(rules.end(), topic.begin(), topic.end());
  }
  return rules;
}

}  // namespace

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = gather_rules();
  return rules;
}

const Rule* find_broken_rule(const RunConfig& config, const Facts& facts) {
  const Situation situation{config, facts};
  const std::span<const Rule> rules = all_rules();
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const Rule& rule) { return rule.is_broken(situation); });
  return found == rules.end() ? nullptr : &*found;
}

void check_rules(const RunConfig& config, const Facts& facts) {
  const Rule* broken = find_broken_rule(config, facts);
  if (broken != nullptr) throw ConfigError(broken->message({config, facts}));
}

std::optional<DataKind> find_data_kind(const DataConfig& data) {
  const auto* row = std::find_if(std::begin(data::kDatasets), std::end(data::kDatasets),
                                 [&](const auto& entry) { return entry.name == data.name; });
  if (row == std::end(data::kDatasets)) return std::nullopt;
  if (row->input == data::Input::kImages) return DataKind{row->input, data::kClasses};
  const bool has_classes = data.name == "table" && !data.label_column.empty();
  return DataKind{row->input, has_classes ? data::kClasses : data::kLanguage};
}

}  // namespace impart::config
