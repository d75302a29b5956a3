#include "impart/cost/io_advice.h"

#include <vector>

#include <gtest/gtest.h>

namespace impart::cost {
namespace {

TimedStrategy strategy(const std::string& name, double moved, double exchange) {
  TimedStrategy timed{.name = name, .moved = moved};
  timed.time.compute = 60;
  timed.time.exchange.seconds = exchange;
  return timed;
}

TEST(Advise, SaysWhenThereIsNothingToGain) {
  const std::vector<TimedStrategy> rows = {strategy("local", 0, 0), strategy("vanilla", 900, 0.3)};
  EXPECT_EQ(advise(rows),
            "No exchange costs more than 300 ms of 60.3 s an epoch (vanilla): there is nothing to "
            "gain from moving less.");
}

TEST(Advise, TakesWhatMixesMostOfWhatIsAboutAsFastAsTheFastest) {
  const std::vector<TimedStrategy> rows = {strategy("vanilla", 900, 20), strategy("local", 0, 0),
                                           strategy("partial@0.1", 90, 2),
                                           strategy("sticky-stripes@10", 30, 1)};
  EXPECT_EQ(
      advise(rows),
      "Take partial@0.1: it waits 2.00 s of 62.0 s an epoch, and moves the most of those that "
      "are about as fast; vanilla waits 20.0 s of 80.0 s an epoch for its exchange.");
}

TEST(Advise, NamesWhatNoStrategyHelpsAgainst) {
  std::vector<TimedStrategy> rows = {strategy("vanilla", 900, 0.3)};
  rows[0].time.gradients = {.seconds = 50, .hidden = 10};
  EXPECT_EQ(advise(rows),
            "No exchange costs more than 300 ms of 100 s an epoch (vanilla): there is nothing to "
            "gain from moving less; vanilla waits 40.0 s of 100 s an epoch for gradients, whatever "
            "is moved.");
}

TEST(Advise, OfOneStrategySaysWhatItWaitsFor) {
  const std::vector<TimedStrategy> rows = {strategy("vanilla", 900, 20)};
  EXPECT_EQ(
      advise(rows),
      "vanilla waits 20.0 s of 80.0 s an epoch for its exchange, and is still the best here.");
}

}  // namespace
}  // namespace impart::cost
