#include "impart/run/ledger_file.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/json.h"
#include "impart/run/metrics_log.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

template <class Struct, class Value>
struct Member {
  const char* name;
  Value Struct::*value;
  const char* formerly = nullptr;  ///< its name in older files
  bool is_new = false;             ///< older files lack it: it is 0 there
};

constexpr Member<store::StorageCost, std::uint64_t> kStorage[] = {
    {"bytes_source", &store::StorageCost::bytes_source},
    {"bytes_local", &store::StorageCost::bytes_local},
    {"bytes_written", &store::StorageCost::bytes_written},
    {"bytes_sent", &store::StorageCost::bytes_sent},
    {"bytes_received", &store::StorageCost::bytes_received},
    {"flows_sent", &store::StorageCost::flows_sent},
    {"flows_received", &store::StorageCost::flows_received},
    {"sends", &store::StorageCost::sends, "messages_sent"},
    {"receives", &store::StorageCost::receives, "messages_received"},
    {"examples_sent", &store::StorageCost::examples_sent},
    {"examples_received", &store::StorageCost::examples_received},
    {"peak_stored", &store::StorageCost::peak_stored},
    {"cache_hits", &store::StorageCost::cache_hits},
    {"cache_misses", &store::StorageCost::cache_misses},
    {"cache_hits_disk", &store::StorageCost::cache_hits_disk, nullptr, true},
    {"cache_hits_peers", &store::StorageCost::cache_hits_peers, nullptr, true},
    {"bytes_peers", &store::StorageCost::bytes_peers, nullptr, true},
};
static_assert(sizeof(store::StorageCost) == std::size(kStorage) * sizeof(std::uint64_t));

constexpr Member<ProcessCost, std::uint64_t> kProcess[] = {
    {"bytes_sent", &ProcessCost::bytes_sent},
    {"bytes_statistics", &ProcessCost::bytes_statistics, nullptr, true},
    {"sends", &ProcessCost::sends, "messages_sent"},
    {"requests_source", &ProcessCost::requests_source, nullptr, true},
};

constexpr Member<ProcessCost, double> kProcessSeconds[] = {
    {"host_wait", &ProcessCost::host_wait, nullptr, true},
    {"exchange_hidden", &ProcessCost::exchange_hidden, nullptr, true},
};

constexpr Member<VisitCosts, std::uint64_t> kVisits[] = {
    {"visits", &VisitCosts::visits},
    {"hidden", &VisitCosts::hidden},
    {"refreshed", &VisitCosts::refreshed},
    {"bytes_saved", &VisitCosts::bytes_saved},
};
constexpr Member<WeightCosts, std::uint64_t> kWeights[] = {
    {"sums", &WeightCosts::sums},
    {"bytes", &WeightCosts::bytes},
};
constexpr Member<VisitCosts, double> kVisitRatios[] = {
    {"max_over_mean", &VisitCosts::max_over_mean},
};

const Json& member(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (!json.is_object() || found == json.end()) {
    throw DataError(fmt::format("\"{}\" is missing", name));
  }
  return *found;
}

void take(const Json& json, const char* name, std::uint64_t& value) {
  const Json& found = member(json, name);
  if (!found.is_number_unsigned()) {
    throw DataError(fmt::format("\"{}\" is {}, not a count", name, shown(found)));
  }
  value = found.get<std::uint64_t>();
}

void take(const Json& json, const char* name, double& value) {
  const Json& found = member(json, name);
  if (!found.is_number()) {
    throw DataError(fmt::format("\"{}\" is {}, not a number", name, shown(found)));
  }
  value = found.get<double>();
}

template <class Struct, class Value, std::size_t N>
void put_members(Json& json, const Struct& from, const Member<Struct, Value> (&members)[N]) {
  for (const auto& row : members) json[row.name] = from.*row.value;
}

template <class Struct, class Value, std::size_t N>
void take_members(const Json& json, Struct& into, const Member<Struct, Value> (&members)[N]) {
  for (const auto& row : members) {
    const bool is_old = row.formerly != nullptr && json.is_object() && json.contains(row.formerly);
    if (row.is_new && json.is_object() && !json.contains(row.name)) continue;
    take(json, is_old ? row.formerly : row.name, into.*row.value);
  }
}

void put_seconds(Json& json, const ProcessCost& cost) {
  put_members(json, cost, kProcessSeconds);
  for (const store::Phase& phase : store::kPhases) {
    json["seconds"][std::string(phase.name)] = cost.seconds.*phase.seconds;
  }
}

/// What older files lack took no time then, or was not told apart.
void take_seconds(const Json& json, ProcessCost& cost) {
  take_members(json, cost, kProcessSeconds);
  const Json& seconds = member(json, "seconds");
  for (const store::Phase& phase : store::kPhases) {
    const std::string name(phase.name);
    if (seconds.contains(name)) take(seconds, name.c_str(), cost.seconds.*phase.seconds);
  }
}

/// Calls `read` for each object of a list whose members `number` must count from 0.
template <class Read>
void read_numbered(const Json& record, const char* list, const char* number, const Read& read) {
  const Json& items = member(record, list);
  if (!items.is_array()) throw DataError(fmt::format("\"{}\" is not a list", list));
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::uint64_t found = 0;
    take(items[i], number, found);
    if (found != i) {
      throw DataError(fmt::format("\"{}\" is {} where {} should come", number, found, i));
    }
    read(items[i]);
  }
}

LedgerEpoch parse_epoch(const Json& record) {
  LedgerEpoch epoch{.epoch = record.at("epoch").get<std::uint32_t>()};
  read_numbered(record, "workers", "worker", [&](const Json& json) {
    take_members(json, epoch.workers.emplace_back(), kStorage);
  });
  read_numbered(record, "processes", "rank", [&](const Json& json) {
    ProcessCost& cost = epoch.processes.emplace_back();
    take_members(json, cost, kProcess);
    take_seconds(json, cost);
  });
  take(record, "skipped", epoch.skipped);
  if (record.contains("visits")) {
    take_members(record.at("visits"), epoch.visits.emplace(), kVisits);
    take_members(record.at("visits"), *epoch.visits, kVisitRatios);
  }
  if (record.contains("weights")) {
    take_members(record.at("weights"), epoch.weights.emplace(), kWeights);
  }
  return epoch;
}

}  // namespace

nlohmann::ordered_json ledger_record(const LedgerEpoch& epoch) {
  Json record = {{"epoch", epoch.epoch}, {"workers", Json::array()}, {"processes", Json::array()}};
  for (const store::StorageCost& cost : epoch.workers) {
    Json json = {{"worker", record["workers"].size()}};
    put_members(json, cost, kStorage);
    record["workers"].push_back(std::move(json));
  }
  for (const ProcessCost& cost : epoch.processes) {
    Json json = {{"rank", record["processes"].size()}};
    put_members(json, cost, kProcess);
    put_seconds(json, cost);
    record["processes"].push_back(std::move(json));
  }
  record["skipped"] = epoch.skipped;
  if (epoch.visits) {
    put_members(record["visits"], *epoch.visits, kVisits);
    put_members(record["visits"], *epoch.visits, kVisitRatios);
  }
  if (epoch.weights) put_members(record["weights"], *epoch.weights, kWeights);
  return record;
}

std::vector<LedgerEpoch> read_ledger(const std::string& path) {
  std::vector<LedgerEpoch> epochs;
  visit_records(path, [&](const Json& record, std::size_t line) {
    try {
      epochs.push_back(parse_epoch(record));
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}:{}: {}", path, line, error.what()));
    }
  });
  return epochs;
}

store::StorageCost total_over_workers(const LedgerEpoch& epoch) {
  store::StorageCost total;
  for (const store::StorageCost& cost : epoch.workers) {
    const std::uint64_t peak = std::max(total.peak_stored, cost.peak_stored);
    for (const auto& row : kStorage) total.*row.value += cost.*row.value;
    total.peak_stored = peak;
  }
  return total;
}

}  // namespace impart::run
