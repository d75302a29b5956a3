#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/train/update/flat_parameters.h"
#include "impart/train/update/half_weights.h"

namespace impart::train {

/// Sums gradients over the processes while the backward pass still runs. Parameters are grouped
/// into buckets of about `bucket_bytes`, from the last layer to the first, as backward passes
/// produce them; as soon as all gradients of a bucket are there, its all-reduce starts.
///
/// Buckets with parameters that the model computes with in bfloat16 copies wait for the end of the
/// pass. Gradients on a GPU go through memory of the host, in one piece after the backward pass.
///
/// Does nothing in a job of one process. The processes must run the same model.
class GradientSum {
 public:
  /// `half_weights`: null, or the copies.
  GradientSum(FlatParameters& parameters, comm::Communicator& communicator,
              const HalfWeights* half_weights = nullptr,
              std::int64_t bucket_bytes = std::int64_t{4} << 20);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Before the backward pass that completes the gradients of a step.
  void expect_backward();
  /// After it: returns when all sums are there.
  /// Collective: every process calls it, in the same order.
  void finish();

 private:
  struct Bucket {
    std::int64_t start = 0, size = 0;
    std::size_t parameters = 0;
    std::size_t ready = 0;
    std::unique_ptr<comm::PendingOperation> reduce;
  };
  class Hook;

  bool is_staged() const;
  void note_ready(std::size_t bucket);
  void start_ready_buckets();

  FlatParameters& parameters_;
  comm::Communicator& communicator_;
  std::vector<Bucket> buckets_;
  std::size_t started_ = 0;
  bool expecting_ = false;
  std::vector<std::shared_ptr<void>> hooked_;  ///< keeps the hooked graph nodes alive
};

}  // namespace impart::train
