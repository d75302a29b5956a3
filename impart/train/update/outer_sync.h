#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/comm/device_sum.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/steps/step.h"
#include "impart/train/update/replicas.h"

namespace impart::train {

/// Steps of an epoch that the workers took on their own, one after the other.
struct Stretch {
  std::uint32_t first = 0, last = 0;  ///< first..last-1
  double learning_rate = 0;           ///< of the last one
  /// The step in which a hosted worker's loss was no number first; none if it always was.
  std::function<std::optional<std::uint32_t>(std::uint32_t worker)> find_bad_step = {};
};

/// How workers that train apart agree on common weights: the mean of theirs, weighted by their
/// visits since they last did, and then an outer step (placement/outers.h).
///
/// With `workers.outer_overlap` the outer step is delayed: `start` lets the sum of the weights
/// travel while the workers go on from their own, and `finish`, one stretch later, takes the outer
/// step and puts what each worker has learned meanwhile on top of it:
///
///     θ ← outer(θ₀, mean of S_k);  θ_k ← θ + (θ_k − S_k),  S_k what θ_k was at `start`.
class OuterSync {
 public:
  OuterSync(const StepContext& context, Replicas& replicas);

  /// All workers get the common weights. Diverged if weights of one are no numbers, or if the
  /// config wants to go on nevertheless, it is only noted.
  /// Collective: every process calls it, in the same order.
  void agree(const Stretch& stretch);

  /// The delayed way. What is under way moves on in `advance`; `finish` without `start` does
  /// nothing. Collective: every process calls them, in the same order.
  void start(const Stretch& stretch);
  void advance();
  void finish();

  void begin_epoch(std::uint32_t first_step);
  const std::vector<SyncRecord>& records() const { return records_; }  ///< of the epoch
  void set_records(std::vector<SyncRecord> records) { records_ = std::move(records); }

  /// As Step has them.
  void gather_state(NamedTensors& state);
  void restore_state(const FindTensor& find);

 private:
  /// A sum of weights that travels.
  struct Pending {
    Stretch stretch;
    torch::Tensor starts;                            ///< S_k, [hosted, parameters]
    torch::Tensor sum;                               ///< on the host if it travels there
    std::unique_ptr<comm::PendingOperation> reduce;  ///< over the host
    bool on_lane = false;                            ///< over the device
  };

  std::vector<double> shares(const Stretch& stretch) const;
  torch::Tensor add_hosted(const torch::Tensor& weights, const Stretch& stretch) const;
  torch::Tensor sum_of_all(const torch::Tensor& weights, const Stretch& stretch);
  void start_on_device(torch::Tensor& sum);
  void wait();
  void measure(const torch::Tensor& weights, const torch::Tensor& mean, const Stretch& stretch);
  void report_bad_workers(const torch::Tensor& weights, const Stretch& stretch);
  void step_outside(const torch::Tensor& mean, double inner_lr);

  StepContext context_;
  Replicas& replicas_;
  std::unique_ptr<comm::DeviceSum> device_sum_;  ///< null: sums pass through the host
  std::unique_ptr<tensors::StreamLanes> lane_;   ///< on which a sum on the device travels
  torch::Tensor velocity_;                       ///< undefined: the rule is the mean
  std::optional<Pending> pending_;
  std::vector<SyncRecord> records_;
};

}  // namespace impart::train
