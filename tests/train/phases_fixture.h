#pragma once

// Whether the phases of a run add up to the time on the clock. The same for every device.

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "impart/run/ledger_file.h"
#include "tests/train/own_run_fixture.h"

namespace impart::testing {

/// A run of some seconds with steps, tracking, new partitions, evaluations and checkpoints.
inline config::RunConfig timed_config(const TemporaryFolder& folder) {
  config::RunConfig config = tiny_config(folder);
  config.data = {.train_examples = 512, .test_examples = 128};
  config.model.name = "resnet18";
  config.workers = {.count = 4, .batch = 32};
  config.partition.warmup = 1;
  config.checkpoint.every = {1};
  return config;
}

struct TimedRun {
  run::RunSummary summary;
  std::vector<double> epochs;  ///< seconds on the clock
  std::vector<run::LedgerEpoch> ledger;
  double seconds = 0;  ///< of all of it, on the clock
};

inline TimedRun time_run(const config::RunConfig& config) {
  TimedRun timed;
  const auto communicator = comm::make_single_communicator();
  const auto start = std::chrono::steady_clock::now();
  timed.summary =
      train::run_training(
          {.config = config,
           .config_text = config::to_yaml(config),
           .config_hash = config::config_hash(config)},
          *communicator,
          {.epoch =
               [&](const train::EpochReport& epoch) { timed.epochs.push_back(epoch.seconds); }})
          .summary;
  timed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  timed.ledger = run::read_ledger(config.output + "/ledger.jsonl");
  return timed;
}

inline void expect_phases_add_up(const TimedRun& run) {
  constexpr double kShare = 0.02;
  const run::RunSummary& s = run.summary;
  EXPECT_NEAR(s.seconds_train + s.seconds_tracking + s.seconds_partition + s.seconds_exchange +
                  s.seconds_eval + s.seconds_checkpoint + s.seconds_other,
              s.seconds_total, kShare * s.seconds_total);
  EXPECT_LE(s.seconds_start + s.seconds_total, run.seconds);
  EXPECT_GE(s.seconds_start + s.seconds_total, 0.9 * run.seconds);  // then results are written
  EXPECT_GT(s.seconds_checkpoint, 0);
  ASSERT_EQ(run.ledger.size(), run.epochs.size());
  for (std::size_t i = 0; i < run.ledger.size(); ++i) {
    const store::PhaseSeconds& phases = run.ledger[i].processes.at(0).seconds;
    // Records and checkpoints are written between epochs, too.
    const double all = phases.total() - phases.checkpoint;
    EXPECT_GE(all, (1 - kShare) * run.epochs[i]) << "epoch " << i;
    EXPECT_LE(all - phases.other, (1 + kShare) * run.epochs[i]) << "epoch " << i;
  }
}

}  // namespace impart::testing
