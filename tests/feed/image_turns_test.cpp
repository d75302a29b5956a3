#include "impart/feed/image_turns.h"

#include <gtest/gtest.h>

namespace impart::feed {
namespace {

using Rows = std::vector<std::int64_t>;

TEST(TakeTurns, FillsOnePlaceAfterTheOther) {
  EXPECT_EQ(take_turns(Rows{3, 6, 9}, 2, 3), (Rows{0, 1, 2, 3, 4, 5, 0, 1, 2}));
}

TEST(TakeTurns, BeginsEveryBatchAtTheBeginningOfAPlace) {
  EXPECT_EQ(take_turns(Rows{1, 4, 6, 7}, 2, 5), (Rows{0, 5, 6, 7, 0, 1, 5}));
}

TEST(TakeTurns, GivesABatchWithoutRowsItsTurn) {
  EXPECT_EQ(take_turns(Rows{2, 2, 4}, 2, 2), (Rows{0, 1, 0, 1}));
  EXPECT_EQ(take_turns(Rows{}, 2, 2), Rows{});
}

}  // namespace
}  // namespace impart::feed
