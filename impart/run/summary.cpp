#include "impart/run/summary.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/run/json_file.h"

namespace impart::run {
namespace {

/// Stands for a value of any type.
struct Anything {
  template <class Value>
  operator Value() const;  // NOLINT(google-explicit-constructor)
};

/// How many members an aggregate has.
template <class Aggregate, class... Values>
consteval std::size_t count_members() {
  if constexpr (requires { Aggregate{Values{}..., Anything{}}; }) {
    return count_members<Aggregate, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

#ifndef __clang__  // version 14 cannot make a constant of libstdc++'s std::string
consteval std::size_t count_listed() {
  std::size_t listed = 0;
  RunSummary summary;
  for_each_summary_member(summary, [&](const char*, auto&, OnResume) { ++listed; });
  return listed;
}
static_assert(count_listed() == count_members<RunSummary>(),
              "for_each_summary_member lacks a member");
#endif

template <class Value>
void write_member(nlohmann::ordered_json& json, const char* name, const Value& value) {
  json[name] = value;
}
void write_member(nlohmann::ordered_json& json, const char* name,
                  const std::optional<double>& value) {
  if (value) json[name] = *value;
}
template <class Value>
void write_member(nlohmann::ordered_json& json, const char* name, const std::optional<Value>& at) {
  json[name] = at ? nlohmann::ordered_json(*at) : nlohmann::ordered_json();
}

/// Members of a member, by "name.member"; true is 1.
void read_members(const std::string& name, const nlohmann::json& members, SummaryFile& summary) {
  for (const auto& [member, value] : members.items()) {
    if (value.is_number()) summary.numbers[name + "." + member] = value.get<double>();
    if (value.is_boolean()) summary.numbers[name + "." + member] = value.get<bool>() ? 1 : 0;
  }
}

}  // namespace

void write_summary(const std::string& folder, const RunSummary& summary) {
  auto json = nlohmann::ordered_json::object();
  for_each_summary_member(summary, [&](const char* name, const auto& value, OnResume) {
    write_member(json, name, value);
  });
  write_json(folder + "/summary.json", json);
}

std::optional<double> SummaryFile::number(std::string_view name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

SummaryFile read_summary(const std::string& folder) {
  const InputFile file(folder + "/summary.json");
  const auto json = parse_json(file.text(), file.path());
  if (!json.is_object()) throw DataError(fmt::format("{}: not a JSON object", file.path()));
  SummaryFile summary;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) summary.numbers[name] = value.get<double>();
    if (name == "stopped_at" && value.is_object()) read_members(name, value, summary);
    if (name == "config_hash" && value.is_string()) summary.config_hash = value.get<std::string>();
    if (name == "weights_sha256" && value.is_string()) {
      summary.weights_sha256 = value.get<std::string>();
    }
    if (name == "seed" && value.is_number_unsigned()) summary.seed = value.get<std::uint64_t>();
  }
  return summary;
}

}  // namespace impart::run
