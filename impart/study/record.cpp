#include "impart/study/record.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"

namespace impart::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::array<std::string_view, 3> kPurposeNames = {"grid", "search", "confirm"};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> if_there(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

std::vector<std::uint64_t> read_seeds(const Json& json) {
  std::vector<std::uint64_t> seeds;
  for (const Json& seed : json) seeds.push_back(whole_number(seed));
  return seeds;
}

Json arm_json(const StudyArm& arm) {
  Json settings = Json::object();
  for (const auto& [key, value] : arm.settings) settings[key] = value;
  return {{"name", arm.name}, {"settings", settings}};
}

StudyArm read_arm(const Json& json) {
  StudyArm arm{.name = json.at("name"), .settings = {}};
  for (const auto& [key, value] : json.at("settings").items()) {
    arm.settings.emplace_back(key, value.get<std::string>());
  }
  return arm;
}

Json run_json(const StudyRun& run) {
  return {{"arm", run.arm},
          {"seed", run.seed},
          {"folder", run.folder},
          {"config_hash", run.config_hash},
          {"purpose", purpose_name(run.purpose)},
          {"epochs", run.epochs}};
}

StudyRun read_run(const Json& json) {
  return {.arm = json.at("arm"),
          .seed = whole_number(json.at("seed")),
          .folder = json.at("folder"),
          .config_hash = json.at("config_hash"),
          .purpose = purpose_of(json.at("purpose").get<std::string>()),
          .epochs = whole_number<std::uint32_t>(json.value("epochs", Json(0u)))};
}

Json search_json(const StudySearch& search) {
  Json rungs = Json::array();
  for (const SearchRung& rung : search.rungs) {
    rungs.push_back({{"epochs", rung.epochs}, {"arms", rung.arms}, {"kept", rung.kept}});
  }
  return {{"kind", "halving"},
          {"eta", search.eta},
          {"min_epochs", search.min_epochs},
          {"rungs", rungs},
          {"winner", or_null(search.winner)}};
}

StudySearch read_search(const Json& json) {
  StudySearch search{.eta = whole_number<std::uint32_t>(json.at("eta")),
                     .min_epochs = whole_number<std::uint32_t>(json.at("min_epochs")),
                     .rungs = {},
                     .winner = if_there<std::string>(json, "winner")};
  for (const Json& rung : json.at("rungs")) {
    search.rungs.push_back({.epochs = whole_number<std::uint32_t>(rung.at("epochs")),
                            .arms = rung.at("arms"),
                            .kept = rung.at("kept")});
  }
  return search;
}

Json growing_json(const SeedPlan& plan) {
  Json taken = Json::array();
  for (const SeedLook& look : plan.taken) {
    taken.push_back(
        {{"seeds", look.seeds}, {"arm", look.arm}, {"half_width", or_null(look.half_width)}});
  }
  return {{"until", plan.until}, {"planned", plan.planned}, {"taken", taken}};
}

SeedPlan read_growing(const Json& json) {
  SeedPlan plan{.until = json.at("until"), .planned = read_seeds(json.at("planned")), .taken = {}};
  for (const Json& look : json.at("taken")) {
    plan.taken.push_back({.seeds = whole_number(look.at("seeds")),
                          .arm = look.at("arm"),
                          .half_width = if_there<double>(look, "half_width")});
  }
  return plan;
}

StudyRecord read_record(const Json& json) {
  if (json.at("format") != kFormat) {
    throw DataError(
        fmt::format("is of format {}, but only {} is known", shown(json.at("format")), kFormat));
  }
  StudyRecord record{.name = json.at("name"),
                     .baseline = if_there<std::string>(json, "baseline"),
                     .metric = json.at("metric"),
                     .target = if_there<double>(json, "target"),
                     .seeds = read_seeds(json.at("seeds")),
                     .confirmation_seeds = read_seeds(json.at("confirmation_seeds")),
                     .arms = {},
                     .runs = {},
                     .search = {}};
  for (const Json& arm : json.at("arms")) record.arms.push_back(read_arm(arm));
  for (const Json& run : json.at("runs")) record.runs.push_back(read_run(run));
  if (json.contains("search") && json["search"].is_object()) {
    record.search = read_search(json["search"]);
  }
  if (json.contains("growing") && json["growing"].is_object()) {
    record.growing = read_growing(json["growing"]);
  }
  return record;
}

}  // namespace

bool SeedPlan::is_narrow_enough() const {
  return !taken.empty() && taken.back().half_width && *taken.back().half_width < until;
}

bool SeedPlan::is_settled() const {
  if (taken.empty()) return false;
  return is_narrow_enough() || !taken.back().half_width || taken.size() == planned.size();
}

std::string_view purpose_name(RunPurpose purpose) {
  return kPurposeNames[static_cast<std::size_t>(purpose)];
}

RunPurpose purpose_of(std::string_view name) {
  for (std::size_t i = 0; i < kPurposeNames.size(); ++i) {
    if (kPurposeNames[i] == name) return static_cast<RunPurpose>(i);
  }
  throw DataError(describe_unknown_name("purpose of a run", name, kPurposeNames));
}

void write_study(const std::string& directory, const StudyRecord& record) {
  Json arms = Json::array();
  for (const StudyArm& arm : record.arms) arms.push_back(arm_json(arm));
  Json runs = Json::array();
  for (const StudyRun& run : record.runs) runs.push_back(run_json(run));
  const Json json = {{"format", kFormat},
                     {"name", record.name},
                     {"baseline", or_null(record.baseline)},
                     {"metric", record.metric},
                     {"target", or_null(record.target)},
                     {"seeds", record.seeds},
                     {"confirmation_seeds", record.confirmation_seeds},
                     {"search", record.search ? search_json(*record.search) : Json()},
                     {"growing", record.growing ? growing_json(*record.growing) : Json()},
                     {"arms", arms},
                     {"runs", runs}};
  OutputFile file(directory + "/study.json");
  file.write(json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
  file.commit();
}

StudyRecord read_study(const std::string& directory) {
  const std::string path = directory + "/study.json";
  const Json json = parse_json<Json>(InputFile(path).text(), path);
  try {
    return read_record(json);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: is not a study: {}", path, error.what()));
  }
}

}  // namespace impart::study
