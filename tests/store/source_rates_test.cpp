#include "impart/store/cache/source_rates.h"

#include <gtest/gtest.h>

namespace impart::store {
namespace {

TEST(SourceRates, TheNetworkIsFasterWhereItTakesLessTimePerByte) {
  EXPECT_TRUE(peers_are_faster({.bytes = 100, .seconds = 2}, {.bytes = 100, .seconds = 1}));
  EXPECT_FALSE(peers_are_faster({.bytes = 100, .seconds = 1}, {.bytes = 100, .seconds = 2}));
  // Many small reads against one large message.
  EXPECT_TRUE(peers_are_faster({.bytes = 3, .seconds = 1}, {.bytes = 4e6, .seconds = 1e6}));
  EXPECT_FALSE(peers_are_faster({.bytes = 5, .seconds = 1}, {.bytes = 4e6, .seconds = 1e6}));
}

TEST(SourceRates, TheSourceStaysWhereNothingSpeaksAgainstIt) {
  const TimedBytes some{.bytes = 100, .seconds = 1};
  EXPECT_FALSE(peers_are_faster(some, some));
  EXPECT_FALSE(peers_are_faster({}, some));
  EXPECT_FALSE(peers_are_faster(some, {}));
}

TEST(SourceRates, AProcessAloneHasNoPeers) {
  const auto alone = comm::make_single_communicator();
  SourceRates rates;
  rates.add_read(1, std::chrono::hours(1));
  for (const MoveFrom from : {MoveFrom::kPeer, MoveFrom::kSource, MoveFrom::kAuto}) {
    EXPECT_FALSE(rates.choose_peers(from, *alone));
  }
}

}  // namespace
}  // namespace impart::store
