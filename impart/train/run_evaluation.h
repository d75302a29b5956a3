#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/train/device/device_evaluation.h"
#include "impart/train/engine.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// The tests of a run's model, as its configuration asks for them. All calls are collective: every
/// process makes them, in the same order.
class RunEvaluation {
 public:
  /// What is passed must outlive it.
  RunEvaluation(const config::RunConfig& config, RunData& data, Engine& engine,
                comm::Communicator& communicator);

  /// Whether an epoch ends with one.
  bool is_due(std::uint32_t epoch) const;

  data::TestOutcome test(std::uint32_t epoch);

  /// What each worker's model comes to on its own, before they become one: accuracy or perplexity.
  /// Nothing in epochs in which they are one, and where nobody asks for it (eval.workers).
  std::vector<double> test_workers(std::uint32_t epoch);

 private:
  EvaluationSpec describe(std::uint32_t epoch) const;

  const config::RunConfig& config_;
  RunData& data_;
  Engine& engine_;
  comm::Communicator& communicator_;
  std::unique_ptr<DeviceEvaluation> on_device_;  ///< where the test data is on a GPU
};

}  // namespace impart::train
