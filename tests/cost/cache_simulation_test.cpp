#include "impart/cost/cache_simulation.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/cost/io_strategies.h"

namespace impart::cost {
namespace {

constexpr std::uint64_t kExamples = 4000;
constexpr std::uint32_t kWorkers = 4;

placement::PlacementSpec strategy(const std::string& name) {
  const placement::PlacementSpec base{.seed = 2, .workers = kWorkers, .epochs = 12};
  const std::vector<std::string> names = {name};
  return make_io_strategies(names, {.base = base}).front().decisions;
}

std::vector<double> hits(const std::string& name, std::uint64_t capacity,
                         std::uint32_t processes = kWorkers) {
  return simulate_cache(strategy(name), {.placement = {.examples = kExamples},
                                         .capacity = capacity,
                                         .processes = processes,
                                         .epochs = 12});
}

double mean_after_first(const std::vector<double>& shares) {
  return std::accumulate(shares.begin() + 1, shares.end(), 0.0) /
         static_cast<double>(shares.size() - 1);
}

TEST(CacheSimulation, ReshuffledPartsHitAsTheFormulaSays) {
  // A part that is read in a new random order every time, through a cache of a share c of it:
  // an example is still there if (1−a)(1−b) > 1−c, a and b uniform.
  for (const double c : {0.25, 0.5, 0.9}) {
    const auto capacity = static_cast<std::uint64_t>(c * kExamples / kWorkers);
    EXPECT_NEAR(mean_after_first(hits("local", capacity)), c + (1 - c) * std::log(1 - c), 0.02);
  }
}

TEST(CacheSimulation, NothingHitsInTheFirstEpochOrWithoutACache) {
  EXPECT_EQ(hits("local", kExamples).front(), 0);
  EXPECT_EQ(mean_after_first(hits("local", 0)), 0);
}

TEST(CacheSimulation, ACacheForAllExamplesOfOneProcessHitsWhateverMoves) {
  EXPECT_EQ(mean_after_first(hits("vanilla", kExamples, 1)), 1);
  EXPECT_LT(hits("vanilla", kExamples)[1], 0.5);
}

TEST(CacheSimulation, AnImportancePassIsReadThroughTheCache) {
  // The pass finds the part in a cache of its size; of the epoch's reads at least the 7.5 % that
  // have just arrived miss, and more that these push out.
  const double share = mean_after_first(hits("is@0.1", kExamples / kWorkers));
  EXPECT_GT(share, 0.85);
  EXPECT_LT(share, 1 - 0.075 / 2 + 0.005);
}

TEST(CacheSimulation, RefusesProcessesWithoutWorkers) {
  EXPECT_THROW(hits("local", 10, kWorkers + 1), ConfigError);
  EXPECT_THROW(hits("local", 10, 0), ConfigError);
}

}  // namespace
}  // namespace impart::cost
