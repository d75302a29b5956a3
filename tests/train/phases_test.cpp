// Whole runs: where their time went.

#include "tests/train/phases_fixture.h"

namespace impart::train {
namespace {

TEST(Phases, OfARunAddUpToTheTimeOnTheClock) {
  const testing::TemporaryFolder folder;
  const testing::TimedRun run = testing::time_run(testing::timed_config(folder));
  testing::expect_phases_add_up(run);
  const store::PhaseSeconds& last = run.ledger.back().processes.at(0).seconds;
  EXPECT_GT(last.forward, last.tracking);
  EXPECT_GT(last.backward, last.tracking);
  EXPECT_LT(last.step, 0.5 * last.training());
  EXPECT_LT(last.tracking, 0.5 * last.total());
  EXPECT_GT(last.tracking, 0);
  EXPECT_GT(last.weight_update, 0);
  EXPECT_GT(last.partition, 0);
  EXPECT_LT(run.ledger.back().processes.at(0).host_wait, 0.01);
}

TEST(Phases, OfTheFirstEpochHaveNoCheckpointTheNextOneHasIt) {
  const testing::TemporaryFolder folder;
  config::RunConfig config = testing::tiny_config(folder);
  config.checkpoint.every = {1};
  const testing::TimedRun run = testing::time_run(config);
  EXPECT_EQ(run.ledger.at(0).processes.at(0).seconds.checkpoint, 0);
  EXPECT_GT(run.ledger.at(1).processes.at(0).seconds.checkpoint, 0);
}

}  // namespace
}  // namespace impart::train
