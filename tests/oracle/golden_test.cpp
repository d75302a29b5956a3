// Compares the library with the golden values that make_golden.py has computed on its own.
// The environment variable IMPART_GOLDEN names the file.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/random.h"
#include "impart/importance/importance_table.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/schedule.h"
#include "impart/placement/starts.h"

namespace impart {
namespace {

using nlohmann::json;

const json& golden() {
  static const json values = [] {
    const char* path = std::getenv("IMPART_GOLDEN");
    if (path == nullptr) throw std::runtime_error("IMPART_GOLDEN is not set");
    std::ifstream file(path);
    return json::parse(file);
  }();
  return values;
}

/// The cases of a section; there must be some.
const json& section(const char* name) {
  const json& cases = golden().at(name);
  if (cases.empty()) throw std::runtime_error(std::string("no cases in ") + name);
  return cases;
}

float number(const json& value) {
  if (!value.is_string()) return value.get<float>();
  if (value == "nan") return std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  return value == "inf" ? infinity : -infinity;
}

std::vector<float> numbers(const json& values) {
  std::vector<float> list;
  for (const json& value : values) list.push_back(number(value));
  return list;
}

placement::Partition partition_of(const json& owners, std::uint32_t workers) {
  std::vector<WorkerId> ids;
  for (const json& owner : owners) ids.push_back(WorkerId{owner.get<std::uint32_t>()});
  return {std::move(ids), workers};
}

/// A case in short, for messages.
std::string describe(const json& c) {
  const std::string text = c.dump();
  return text.size() > 600 ? text.substr(0, 600) + "…" : text;
}

TEST(Golden, Philox) {
  for (const json& c : section("philox")) {
    EXPECT_EQ(philox4x32_10(c["counter"].get<PhiloxCounter>(), c["key"].get<PhiloxKey>()),
              c["result"].get<PhiloxCounter>());
  }
}

TEST(Golden, Streams) {
  for (const json& c : section("streams")) {
    const auto fresh = [&] {
      return RandomStream({.seed = c["seed"],
                           .purpose = Purpose(c["purpose"].get<std::string>()),
                           .epoch = c["epoch"],
                           .worker = WorkerId{c["worker"].get<std::uint32_t>()}});
    };
    RandomStream words = fresh();
    for (const json& word : c["words"]) ASSERT_EQ(words.next32(), word) << describe(c);
    RandomStream bounded = fresh();
    for (std::size_t i = 0; i < c["bounds"].size(); ++i) {
      ASSERT_EQ(bounded.below(c["bounds"][i]), c["below"][i]) << describe(c);
    }
    RandomStream uniform = fresh(), exponential = fresh(), normal = fresh();
    for (const json& x : c["uniform"]) ASSERT_EQ(uniform.uniform(), x.get<double>());
    for (const json& x : c["exponential"]) ASSERT_NEAR(exponential.exponential(), x, 1e-14);
    for (const json& x : c["normal"]) ASSERT_NEAR(normal.normal(), x, 1e-9);
    std::vector<std::uint64_t> items(c["shuffle_size"].get<std::size_t>());
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
    RandomStream shuffling = fresh();
    shuffle(std::span(items), shuffling);
    ASSERT_EQ(items, c["shuffle"].get<std::vector<std::uint64_t>>()) << describe(c);
  }
}

TEST(Golden, Partitions) {
  for (const json& c : section("partitions")) {
    const auto importance = numbers(c["importance"]);
    std::vector<std::uint32_t> labels;
    if (!c["labels"].is_null()) labels = c["labels"].get<std::vector<std::uint32_t>>();
    std::optional<placement::Partition> previous;
    if (!c["sticky_to"].is_null()) previous = partition_of(c["sticky_to"], c["sticky_workers"]);
    const auto& heuristic =
        find_entry(placement::kHeuristics, "heuristic", c["heuristic"].get<std::string>());
    const placement::Partition partition =
        heuristic.function(importance, {.workers = c["workers"],
                                        .seed = c["seed"],
                                        .epoch = c["epoch"],
                                        .labels = labels,
                                        .sticky_to = previous ? &*previous : nullptr,
                                        .strength = c["strength"]});
    if (!c["owners"].is_null()) {
      ASSERT_EQ(partition, partition_of(c["owners"], c["workers"])) << describe(c);
    }
    const placement::Imbalance imbalance = placement::measure_imbalance(partition, importance);
    if (c["cv"].is_null()) {
      ASSERT_TRUE(std::isnan(imbalance.cv)) << describe(c);
    } else {
      ASSERT_NEAR(imbalance.cv, c["cv"].get<double>(), 1e-9 * std::max(1.0, imbalance.cv))
          << describe(c);
    }
    ASSERT_NEAR(imbalance.ks, c["ks"].get<double>(), 1e-12) << describe(c);
    if (!c["class_skew"].is_null()) {
      ASSERT_NEAR(placement::measure_class_skew(partition, labels), c["class_skew"].get<double>(),
                  1e-12);
    }
    if (!previous) continue;
    const placement::MovePlan plan = placement::diff(*previous, partition);
    ASSERT_EQ(plan.moves.size(), c["moved"]) << describe(c);
    if (c["messages"].is_null()) continue;
    ASSERT_EQ(plan.messages(), c["messages"]) << describe(c);
  }
}

TEST(Golden, Starts) {
  for (const json& c : section("starts")) {
    const auto labels = c["labels"].get<std::vector<std::uint32_t>>();
    const auto& start = find_entry(placement::kStarts, "start", c["start"].get<std::string>());
    const placement::Partition partition =
        start.function({.examples = labels.size(),
                        .workers = c["workers"],
                        .seed = c["seed"],
                        .labels = labels,
                        .alpha = c["alpha"],
                        .sizes = c["sizes"] == "even" ? placement::PartSizes::kEven
                                                      : placement::PartSizes::kFree});
    ASSERT_EQ(partition, partition_of(c["owners"], c["workers"])) << describe(c);
  }
}

TEST(Golden, Exchanges) {
  for (const json& c : section("exchanges")) {
    const placement::Partition previous = partition_of(c["previous"], c["workers"]);
    const auto& exchange =
        find_entry(placement::kExchanges, "exchange", c["exchange"].get<std::string>());
    const placement::Partition after =
        exchange.function(previous, numbers(c["importance"]),
                          {.fraction = c["fraction"],
                           .seed = c["seed"],
                           .epoch = c["epoch"],
                           .earlier_exchanges = c["earlier_exchanges"]});
    ASSERT_EQ(after, partition_of(c["owners"], c["workers"])) << describe(c);
    ASSERT_EQ(placement::diff(previous, after).moves.size(), c["moved"]) << describe(c);
    ASSERT_EQ(placement::diff(previous, after).messages(), c["messages"]) << describe(c);
  }
}

TEST(Golden, Orders) {
  for (const json& c : section("orders")) {
    std::vector<float> importance;
    if (!c["importance"].is_null()) importance = numbers(c["importance"]);
    const placement::Parts order = placement::order_epoch(
        partition_of(c["owners"], c["workers"]),
        {.seed = c["seed"],
         .epoch = c["epoch"],
         .shuffle = c["shuffle"] == "shared" ? placement::ShuffleKind::kShared
                                             : placement::ShuffleKind::kPerWorker,
         .importance = importance});
    for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
      std::vector<std::uint64_t> ids;
      for (const ExampleId id : order.of(WorkerId{worker})) ids.push_back(index(id));
      ASSERT_EQ(ids, c["order"][worker].get<std::vector<std::uint64_t>>()) << describe(c);
    }
  }
}

void observe(importance::ImportanceTable& table, const json& step) {
  std::vector<ExampleId> ids;
  for (const json& id : step["ids"]) ids.push_back(ExampleId{id.get<std::uint64_t>()});
  const json& s = step["signals"];
  importance::PerSignal<std::vector<float>> values;
  importance::Signals signals;
  for (const importance::SignalRow& row : importance::kSignals) {
    values[row.signal] = numbers(s.at(std::string(row.name)));
    signals.*row.values = values[row.signal];
  }
  table.observe(step["epoch"], ids, signals);
}

TEST(Golden, Notions) {
  for (const json& c : section("notions")) {
    importance::ImportanceTable table(
        {.examples = c["examples"],
         .notions = {std::begin(importance::kNotions), std::end(importance::kNotions)},
         .ignore = c["ignore"],
         .window = c["window"] == "run" ? importance::WindowKind::kRun
                                        : importance::WindowKind::kInterval,
         .seed = c["seed"],
         .truth = numbers(c["truth"])});
    for (const json& step : c["steps"]) {
      step.contains("close_window") ? table.close_window() : observe(table, step);
    }
    ASSERT_EQ(c["expected"].size(), std::size(importance::kNotions));
    for (const auto& [notion, expected] : c["expected"].items()) {
      const auto importance = table.importance(notion);
      for (std::size_t i = 0; i < importance.size(); ++i) {
        const double value = expected[i].get<double>();
        ASSERT_NEAR(double{importance[i]}, value, 2e-5 * std::max(1.0, std::abs(value)))
            << notion << " of example " << i << " in " << describe(c);
      }
    }
  }
}

TEST(Golden, Schedules) {
  for (const json& c : section("schedules")) {
    json events = json::array();
    for (const placement::ScheduleEvent& event : placement::make_schedule({.epochs = c["epochs"],
                                                 .warmup = c["warmup"],
                                                 .interval = c["interval"],
                                                 .ignore = c["ignore"],
                                                 .exchange = c["exchange"],
                                                 .needs_importance = c["needs_importance"]})) {
      switch (event.kind) {
        case placement::ScheduleEvent::Kind::kRandom:
          events.push_back({"random", event.epoch});
          break;
        case placement::ScheduleEvent::Kind::kStart:
          events.push_back({"start", event.epoch});
          break;
        case placement::ScheduleEvent::Kind::kExchange:
          events.push_back({"exchange", event.epoch});
          break;
        case placement::ScheduleEvent::Kind::kHeuristic:
          events.push_back({"heuristic", event.epoch, event.window.first, event.window.last});
          break;
      }
    }
    ASSERT_EQ(events, c["events"]) << describe(c);
  }
}

}  // namespace
}  // namespace impart
