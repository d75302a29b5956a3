// Where the time of whole runs on the GPU went.

#include "tests/cuda/gpu_test.h"
#include "tests/train/phases_fixture.h"

namespace impart {
namespace {

using DevicePhasesTest = testing::GpuTest;

config::RunConfig gpu_config(const testing::TemporaryFolder& folder) {
  config::RunConfig config = testing::timed_config(folder);
  config.device = config::RunConfig::Device::kCuda;
  config.precision = config::RunConfig::Precision::kBf16;
  config.epochs = 5;
  config.data.train_examples = 20000;
  config.data.test_examples = 1000;
  config.workers.batch = 256;
  return config;
}

TEST_F(DevicePhasesTest, AddUpToTheTimeOnTheClockWhereStepsAreRecorded) {
  const testing::TemporaryFolder folder;
  const testing::TimedRun run = testing::time_run(gpu_config(folder));
  testing::expect_phases_add_up(run);
  const run::ProcessCost& last = run.ledger.back().processes.at(0);
  EXPECT_GT(last.seconds.step, 0.9 * last.seconds.training());
  EXPECT_GT(last.seconds.step, last.seconds.tracking);
  EXPECT_GT(last.host_wait, 0);
}

TEST_F(DevicePhasesTest, AddUpWhereStepsAreNotRecorded) {
  const testing::TemporaryFolder folder;
  config::RunConfig config = gpu_config(folder);
  config.workers.micro_batch = 512;
  const testing::TimedRun run = testing::time_run(config);
  testing::expect_phases_add_up(run);
  const store::PhaseSeconds& last = run.ledger.back().processes.at(0).seconds;
  EXPECT_GT(last.forward, 0);
  EXPECT_GT(last.backward, last.weight_update);
  EXPECT_GT(last.weight_update, 0);
  EXPECT_LT(last.step, 0.2 * last.training());
}

}  // namespace
}  // namespace impart
