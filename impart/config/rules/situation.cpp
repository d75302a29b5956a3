#include "impart/config/rules/situation.h"

namespace impart::config {

bool wants_nccl(const Situation& s) {
  return s.config.workers.transport == WorkersConfig::Transport::kNccl;
}

bool is_tensors(const Situation& s) {
  return s.facts.data && s.facts.data->is_tensors;
}

std::optional<DataKind> kind_of_data(const Situation& s) {
  if (s.facts.data && !s.facts.data->input) return std::nullopt;
  if (s.facts.data) return DataKind{*s.facts.data->input, s.facts.data->task};
  return s.facts.own.data ? std::nullopt : find_data_kind(s.config.data);
}

bool is_text(const Situation& s) {
  const auto kind = kind_of_data(s);
  return kind && kind->input == data::Input::kTokens;
}

}  // namespace impart::config
