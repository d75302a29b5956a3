#include "cli/terminal/line_layout.h"

#include <vector>

#include <gtest/gtest.h>

#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

const std::vector<LineField> kFields = {
    {.text = "train", .rank = 3, .colour = "1"},
    {.text = "epoch 3/8", .rank = 1},
    {.text = "", .rank = 4, .colour = "36", .is_bar = true, .share = 0.5},
    {.text = "1m02s left", .rank = 2},
};

std::string line(std::size_t columns, const Terminal& terminal = {}) {
  return lay_out(kFields, columns, terminal);
}

TEST(LineLayout, NeverTakesMoreColumnsThanThereAre) {
  const Terminal colourful{.paints = true, .has_colours = true, .has_utf8 = true};
  for (std::size_t columns = 0; columns <= 200; ++columns) {
    EXPECT_LE(visible_columns(line(columns)), columns);
    EXPECT_LE(visible_columns(line(columns, colourful)), columns);
  }
}

TEST(LineLayout, ShowsWhatThereIsRoomForByRank) {
  EXPECT_EQ(line(100), "train  epoch 3/8  ###############                 1m02s left");
  EXPECT_EQ(line(40), "train  epoch 3/8  #####       1m02s left");
  EXPECT_EQ(line(30), "train  epoch 3/8  1m02s left");
  EXPECT_EQ(line(22), "epoch 3/8  1m02s left");
  EXPECT_EQ(line(19), "train  epoch 3/8");
  EXPECT_EQ(line(9), "epoch 3/8");
  EXPECT_EQ(line(8), "epoch 3…");
  EXPECT_EQ(line(0), "");
}

TEST(LineLayout, ColoursOnlyWhereThereAreColours) {
  EXPECT_EQ(line(19, {.paints = true, .has_colours = true}), "\x1b[1mtrain\x1b[0m  epoch 3/8");
  EXPECT_EQ(line(19, {.paints = true}), "train  epoch 3/8");
}

TEST(LineLayout, BarsHaveTheirLengthAndHalves) {
  EXPECT_EQ(bar_text(0.5, 5, true), "━━╸  ");
  EXPECT_EQ(bar_text(0.5, 5, false), "##   ");
  for (const double share : {-1.0, 0.0, 0.001, 0.49, 0.999, 1.0, 2.0}) {
    EXPECT_EQ(columns_of(bar_text(share, 7, true)), 7u);
    EXPECT_EQ(columns_of(bar_text(share, 7, false)), 7u);
  }
  EXPECT_EQ(bar_text(1, 3, true), "━━━");
}

}  // namespace
}  // namespace impart::cli
