#include "impart/cost/io_strategies.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "tests/support/temporary_folder.h"

namespace impart::cost {
namespace {

std::vector<IoStrategy> strategies(const std::vector<std::string>& names) {
  IoStrategiesSpec spec;
  spec.base.epochs = 50;
  spec.base.warmup = 4;
  return make_io_strategies(names, spec);
}

TEST(IoStrategies, VanillaAndLocalAreRandomPartitions) {
  const auto rows = strategies({"vanilla", "local"});
  EXPECT_EQ(rows[0].decisions.heuristic.name, "random");
  EXPECT_EQ(rows[0].decisions.interval, 1u);
  EXPECT_EQ(rows[1].decisions.interval, 0u);
  EXPECT_EQ(rows[1].decisions.warmup, 0u);
  EXPECT_EQ(rows[1].decisions.epochs, 50u);
}

TEST(IoStrategies, HeuristicsComeOnceForEachInterval) {
  const auto rows = strategies({"stripes", "sticky-class-stripes@7"});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "stripes@5");
  EXPECT_EQ(rows[2].name, "stripes@30");
  EXPECT_EQ(rows[2].decisions.interval, 30u);
  EXPECT_EQ(rows[2].decisions.warmup, 4u);
  EXPECT_FALSE(rows[2].decisions.sticky);
  EXPECT_EQ(rows[3].decisions.heuristic.name, "class-stripes");
  EXPECT_EQ(rows[3].decisions.interval, 7u);
  EXPECT_TRUE(rows[3].decisions.sticky);
}

TEST(IoStrategies, ExchangesComeOnceForEachFraction) {
  const auto rows = strategies({"is-pair", "partial@0.25"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "is-pair@0.3");
  EXPECT_EQ(rows[1].decisions.exchange->name, "is-pair");
  EXPECT_EQ(rows[1].decisions.warmup, 0u);
  EXPECT_EQ(rows[2].decisions.fraction, 0.25);
}

TEST(IoStrategies, ConfigIsTheBaseItself) {
  IoStrategiesSpec spec;
  spec.base = {.warmup = 2, .interval = 9, .sticky = true};
  const std::vector<std::string> names = {"config"};
  const placement::PlacementSpec same = make_io_strategies(names, spec).front().decisions;
  EXPECT_EQ(same.warmup, 2u);
  EXPECT_EQ(same.interval, 9u);
  EXPECT_TRUE(same.sticky);
}

TEST(IoStrategies, TheUsualOnesAreAllHeuristicsAndAllExchanges) {
  std::string all = ",";
  for (const IoStrategy& row : strategies(usual_io_strategies({}))) all += row.name + ",";
  for (const placement::HeuristicEntry& row : placement::kHeuristics) {
    if (!row.uses_importance) continue;
    EXPECT_NE(all.find("," + std::string(row.name) + "@10,"), all.npos) << all;
    EXPECT_NE(all.find(",sticky-" + std::string(row.name) + "@10,"), all.npos) << all;
  }
  for (const placement::ExchangeEntry& row : placement::kExchanges) {
    EXPECT_NE(all.find("," + std::string(row.name) + "@0.1,"), all.npos) << all;
  }
}

TEST(IoStrategies, TheMainOnesAreTenOfTheUsual) {
  const auto usual = strategies(usual_io_strategies({}));
  const std::vector<std::string> names = main_io_strategies();
  const auto main = make_io_strategies(names, {.intervals = {10}, .fractions = {0.1}});
  EXPECT_EQ(main.size(), 10u);
  for (const IoStrategy& row : main) {
    EXPECT_TRUE(std::any_of(usual.begin(), usual.end(), [&](const IoStrategy& one) {
      return one.name == row.name;
    })) << row.name;
  }
}

TEST(IoStrategies, WrongNamesAndNumbersAreExplained) {
  const auto message = [](const std::string& name) {
    return testing::message_of<ConfigError>([&] { strategies({name}); });
  };
  EXPECT_EQ(message("strips@5"), "unknown strategy 'strips', did you mean 'stripes'?");
  EXPECT_EQ(message("sticky-snaek"),
            "unknown strategy 'sticky-snaek', did you mean 'sticky-snake'?");
  EXPECT_EQ(message("stripes@x"), "strategy 'stripes@x': 'x' is no number of epochs");
  EXPECT_EQ(message("stripes@"), "strategy 'stripes@': '' is no number of epochs");
  EXPECT_EQ(message("stripes@-1"), "strategy 'stripes@-1': '-1' is no number of epochs");
  EXPECT_EQ(message("partial@1.5"),
            "strategy 'partial@1.5': a fraction of 1.5 is not between 0 and 1");
  EXPECT_EQ(message("local@3"), "strategy 'local@3': local takes no number");
}

}  // namespace
}  // namespace impart::cost
