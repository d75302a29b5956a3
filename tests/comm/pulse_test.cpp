#include "impart/comm/pulse.h"

#include <vector>

#include <gtest/gtest.h>

namespace impart::comm {
namespace {

using std::chrono::seconds;
using Ranks = std::vector<std::uint32_t>;

const PulseBoard::Time kStart = PulseBoard::Clock::now();

/// Process 1 of 4, with a timeout of 10 s.
PulseBoard make_board(seconds timeout = seconds(10)) {
  return PulseBoard({.rank = 1, .size = 4, .timeout = timeout, .period = seconds(1)}, kStart);
}

Pulse pulse_at(std::uint64_t collectives, const Activity& activity = {.phase = "train"}) {
  Pulse pulse;
  pulse.collectives = collectives;
  pulse.set(activity);
  return pulse;
}

/// Second by second; the processes `speaking` are heard of every time.
void pass(PulseBoard& board, int from, int to, const Ranks& speaking) {
  for (int second = from + 1; second <= to; ++second) {
    board.pass_time(kStart + seconds(second));
    for (const std::uint32_t rank : speaking) {
      board.note(rank, pulse_at(5), kStart + seconds(second));
    }
  }
}

TEST(PulseBoard, LosesWhoIsSilentForTheTimeoutAndNotBefore) {
  PulseBoard board = make_board();
  pass(board, 0, 9, {0, 3});
  EXPECT_EQ(board.lost(kStart + seconds(9)), Ranks{});
  pass(board, 9, 10, {0, 3});
  EXPECT_EQ(board.lost(kStart + seconds(10)), Ranks{2});
}

TEST(PulseBoard, NeverLosesItself) {
  PulseBoard board = make_board();
  pass(board, 0, 100, {0, 2, 3});
  EXPECT_EQ(board.lost(kStart + seconds(100)), Ranks{});
}

TEST(PulseBoard, WithoutATimeoutLosesNobody) {
  PulseBoard board = make_board(seconds(0));
  pass(board, 0, 1'000, {});
  EXPECT_EQ(board.lost(kStart + seconds(1'000)), Ranks{});
}

TEST(PulseBoard, NamesAllThatACutSeparatesThoughTheySpokeOneAfterTheOther) {
  PulseBoard board = make_board();
  pass(board, 0, 1, {0, 3});
  pass(board, 1, 10, {0});
  EXPECT_EQ(board.lost(kStart + seconds(10)), (Ranks{2, 3}));
}

TEST(PulseBoard, OwnStandstillIsNobodysSilence) {
  PulseBoard board = make_board();
  pass(board, 0, 5, {0, 3});
  const auto awake = kStart + seconds(500);
  board.pass_time(awake);
  EXPECT_EQ(board.lost(awake), Ranks{});
  pass(board, 500, 504, {0, 3});
  EXPECT_EQ(board.lost(kStart + seconds(504)), Ranks{});
  pass(board, 504, 506, {0, 3});
  EXPECT_EQ(board.lost(kStart + seconds(506)), Ranks{2});
}

TEST(PulseBoard, KnowsWhoHasNotBegunACollective) {
  PulseBoard board = make_board();
  board.note(0, pulse_at(7), kStart);
  board.note(2, pulse_at(6), kStart);
  board.note(3, pulse_at(8), kStart);
  EXPECT_EQ(board.behind(pulse_at(7)), Ranks{2});
}

TEST(PulseBoard, SaysWhoIsLostAndWhereAndSinceWhen) {
  PulseBoard board = make_board();
  board.note(2, pulse_at(6, {.phase = "evaluate", .epoch = 2, .step = 17}), kStart);
  const Pulse mine = pulse_at(7, {.phase = "train", .epoch = 3, .step = 1});
  EXPECT_EQ(board.describe_loss(Ranks{2}, mine, seconds(11), kStart + seconds(12)),
            "process 2 of 4 was lost: nothing was heard of it for 12 s (comm.timeout), last in "
            "evaluate, epoch 3, step 17; process 1 waits in train, epoch 4, step 1, for 11 s now");
}

TEST(PulseBoard, SaysWhoIsWaitedFor) {
  PulseBoard board = make_board();
  board.note(2, pulse_at(6, {.phase = "evaluate", .epoch = 2, .step = 17}), kStart);
  const Pulse mine = pulse_at(7, {.phase = "train", .epoch = 3, .step = 1});
  EXPECT_EQ(board.describe_wait(Ranks{2}, mine, seconds(30), kStart + seconds(1)),
            "process 1 of 4, in train, epoch 4, step 1, has waited for 30 s for process 2 (in "
            "evaluate, epoch 3, step 17, heard of 1 s ago)");
}

TEST(PulseBoard, ALongListIsCut) {
  PulseBoard board({.rank = 0, .size = 100, .timeout = seconds(1), .period = {}}, kStart);
  const Ranks all = board.lost(kStart + seconds(2));
  ASSERT_EQ(all.size(), 99u);
  const std::string text = board.describe_loss(all, {}, seconds(1), kStart + seconds(2));
  EXPECT_NE(text.find("process 4 of 100 was lost"), std::string::npos);
  EXPECT_EQ(text.find("process 5 of 100"), std::string::npos);
  EXPECT_NE(text.find("; and 95 more; process 0 waits"), std::string::npos);
}

TEST(Pulse, CutsALongPhase) {
  Pulse pulse;
  pulse.set({.phase = "a phase with a name that is far too long", .epoch = 0, .step = 0});
  EXPECT_EQ(pulse.text(), "a phase with a name tha, epoch 1, step 0");
}

}  // namespace
}  // namespace impart::comm
