#include "impart/run/epoch_record.h"

#include <nlohmann/json.hpp>

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

template <class Number>
void put(Json& line, const char* name, const Number& value) {
  line[name] = value;
}
template <class Number>
void put(Json& line, const char* name, const std::optional<Number>& value) {
  if (value) line[name] = *value;
}
void put(Json& line, const char* name, const std::vector<double>& values) {
  if (!values.empty()) line[name] = values;
}
void put(Json& line, const char* name, const placement::PlacementChange* change) {
  if (change == nullptr) return;
  Json& members = line[name] = {{"event", name_of(change->kind)}};
  for_each_change_member(*change, [&](const char* member, const auto& value, const char*) {
    members[member] = value;
  });
}

}  // namespace

std::string_view name_of(placement::ScheduleEvent::Kind kind) {
  switch (kind) {
    case placement::ScheduleEvent::Kind::kRandom:
      return "random";
    case placement::ScheduleEvent::Kind::kHeuristic:
      return "heuristic";
    case placement::ScheduleEvent::Kind::kExchange:
      return "exchange";
    case placement::ScheduleEvent::Kind::kStart:
      return "start";
  }
  return "";
}

nlohmann::ordered_json epoch_line(const EpochRecord& record) {
  Json line = Json::object();
  for_each_epoch_member(
      record, [&](const char* name, const auto& value, const char*) { put(line, name, value); });
  return line;
}

}  // namespace impart::run
