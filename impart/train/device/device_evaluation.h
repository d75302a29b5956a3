#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/train/device/step_graph.h"
#include "impart/train/evaluation.h"

namespace impart::train {

/// What `evaluate` computes, for a data set that is on a GPU whole: many batches go through the
/// model at once, and the passes are recorded as graphs. Under `paper`, where a batch is normalised
/// with its own statistics, the batches are stacked like workers, so that they do not mix.
class DeviceEvaluation {
 public:
  /// Whether all that is needed is there: one process, the data on a GPU, and kernels for it.
  static bool can_run(const feed::Feed& feed, const comm::Communicator& communicator);

  /// Both must outlive it. `half`: the model computes in bfloat16.
  DeviceEvaluation(models::Classifier& model, feed::Feed& feed, bool half);

  /// Waits for the result.
  Evaluation evaluate(const EvaluationSpec& spec);

 private:
  /// Rows that go through the model together, and the graph that does it.
  struct Pass {
    std::int64_t first_row = 0, rows = 0;
    std::shared_ptr<models::WorkerLayout> layout;
    std::shared_ptr<StepGraph> graph = nullptr;  ///< passes of one shape share it
  };

  void plan_passes(const EvaluationSpec& spec);
  void begin(const EvaluationSpec& spec);
  void compute(const Pass& pass);
  void run_passes();

  models::Classifier& model_;
  feed::Feed& feed_;
  bool half_;
  feed::DeviceImages images_;
  torch::Tensor step_state_, ids_, choices_, results_;
  std::vector<Pass> passes_;
  EvaluationSpec planned_for_;
  int runs_ = 0;
};

}  // namespace impart::train
