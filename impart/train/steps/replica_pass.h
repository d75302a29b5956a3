#pragma once

#include <cstdint>
#include <memory>

#include <torch/types.h>

#include "impart/train/steps/step.h"
#include "impart/train/update/replicas.h"

namespace impart::train {

/// How the replicas of a process take a step: each with its own batch, weights and optimiser.
class ReplicaPass {
 public:
  virtual ~ReplicaPass() = default;

  /// As Step has them.
  virtual void begin_epoch() = 0;
  virtual void run(std::uint32_t step, double learning_rate) = 0;
  virtual void end_epoch() {}
  virtual torch::Tensor collected(std::int64_t rows) const = 0;
};

/// Where all examples are on a GPU, the steps of replicas are recorded and replayed side by side;
/// elsewhere replicas go one after the other. What is passed must outlive the pass.
std::unique_ptr<ReplicaPass> make_recorded_replicas(const StepContext& context, Replicas& replicas);
std::unique_ptr<ReplicaPass> make_replica_pass(const StepContext& context, Replicas& replicas);

}  // namespace impart::train
