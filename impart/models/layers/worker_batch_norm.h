#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "impart/models/layers/norm_layer.h"
#include "impart/models/layers/shared_sums.h"

namespace impart::models {

/// Which rows of a batch belong to which of the workers that this process hosts, or to which of the
/// groups of workers that are normalised together; a worker here is either. Their batches are
/// stacked: worker w has rows starts[w] .. starts[w + 1] - 1, perhaps none.
struct WorkerLayout {
  std::vector<std::int64_t> starts = {0, 0};  ///< one more than there are workers; from 0 upwards

  /// Where these are not all workers that have running statistics: the first one's row there, and
  /// how many rows there are. On GPUs.
  std::int64_t first = 0, of = 0;
  /// Set where rows in other passes share the statistics; on the CPU.
  SharedSums* shared = nullptr;
  std::vector<std::int64_t> shared_rows = {};  ///< with `shared`: of each worker, in all passes
  bool moves_running = true;  ///< false: another pass moves the running statistics of this step

  std::int64_t workers() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::int64_t rows(std::int64_t worker) const { return starts[worker + 1] - starts[worker]; }
  /// Rows that a worker's statistics are of.
  std::int64_t measured_rows(std::int64_t worker) const {
    return shared != nullptr ? shared_rows[worker] : rows(worker);
  }
  std::int64_t statistics() const { return of > 0 ? of : workers(); }  ///< rows of them

  /// `starts` as a tensor on a device: copied when they have changed since the last call, which
  /// waits for the device. What a recorded graph reads must have a layout of its own, unchanged.
  const torch::Tensor& starts_on(torch::Device device) const;

  mutable torch::Tensor copy = {};                ///< of `copied`, on the last device
  mutable std::vector<std::int64_t> copied = {};  ///< what `starts` was
};

/// Means and biased variances of a batch, [workers, channels]; zeros for workers without rows.
struct BatchMoments {
  torch::Tensor mean;
  torch::Tensor variance;
};

/// A batch, and what it was normalised with.
struct NormalisedBatch {
  torch::Tensor output;
  BatchMoments moments;
};

/// Normalises each worker's rows of `input`, [B, C] or [B, C, H, W], with the worker's own mean and
/// variance per channel, then scales by weight and shifts by bias, [C]. Differentiable (once) by
/// input, weight and bias.
///
/// Floats on the CPU: a kernel of our own over all workers, uneven or not, whose bits do not depend
/// on the number of threads (cpu_batch_norm.h). Elsewhere: torch::batch_norm, worker by worker, or
/// for many workers with equally many rows as one call that takes workers × channels for channels.
/// ConfigError if the layout does not end with the batch.
NormalisedBatch normalise_by_worker(const torch::Tensor& input, const torch::Tensor& weight,
                                    const torch::Tensor& bias, const WorkerLayout& layout,
                                    double epsilon);

/// As torch's BatchNorm2d options.
struct WorkerBatchNormSpec {
  std::int64_t channels = 0;
  double epsilon = 1e-5;
  double momentum = 0.1;
};

/// Batch norm that keeps stacked workers apart, as if each had a replica of the model. Parameters
/// and buffers are called what torch::nn::BatchNorm2d calls them.
///
/// In training each worker has running statistics of its own: the registered running_mean and
/// running_var, which evaluation uses, follow only when somebody sets them from the workers'
/// (worker_statistics.h). A worker without rows keeps its statistics; a worker with a single value
/// per channel keeps its variance, as that has no unbiased estimate.
///
/// On a GPU whose kernels this build has (impart/cuda/batch_norm.h) everything, tail included, is
/// two launches, one in evaluation. There and on the CPU (half_batch_norm.h) input may be float or
/// bfloat16; parameters and statistics are float.
class WorkerBatchNorm2dImpl : public NormLayer {
 public:
  explicit WorkerBatchNorm2dImpl(const WorkerBatchNormSpec& spec);

  /// ConfigError if the layout has another number of workers than the statistics.
  TensorFork forward_twice(const torch::Tensor& input, const NormTail& tail) override;

  /// Whose rows are whose in the next forward passes in training; read at each of them, so its
  /// owner can change it in between. Null: one worker has all rows.
  void set_layout(std::shared_ptr<const WorkerLayout> layout) { layout_ = std::move(layout); }
  const std::shared_ptr<const WorkerLayout>& layout() const { return layout_; }

  /// If set, evaluation does what training does: it normalises with the statistics of the batch at
  /// hand, and moves the running ones (the `paper` evaluation).
  void set_batch_statistics(bool used) { batch_statistics_ = used; }

  /// If set, batch statistics move no running ones, and may be of any number of workers. On GPUs.
  void set_frozen(bool frozen) { frozen_ = frozen; }

  std::int64_t channels() const { return spec_.channels; }

  /// Running statistics of the hosted workers, [workers, channels]. Undefined before the first
  /// forward pass in training, which starts them all from the registered ones.
  const torch::Tensor& worker_mean() const { return worker_mean_; }
  const torch::Tensor& worker_variance() const { return worker_variance_; }
  /// Copies them, for example from a checkpoint. Undefined tensors: start anew from the registered.
  void set_worker_statistics(const torch::Tensor& mean, const torch::Tensor& variance);

  torch::Tensor weight, bias;
  torch::Tensor running_mean, running_var, num_batches_tracked;

 private:
  torch::Tensor normalise_batch(const torch::Tensor& input);
  TensorFork normalise_half(const torch::Tensor& input, const NormTail& tail, bool with_batch);
  TensorFork normalise_on_device(const torch::Tensor& input, const NormTail& tail, bool with_batch);
  void prepare_worker_statistics(std::int64_t workers);
  void move_worker_statistics(const BatchMoments& moments, const WorkerLayout& layout,
                              std::int64_t pixels);

  WorkerBatchNormSpec spec_;
  std::shared_ptr<const WorkerLayout> layout_;
  bool batch_statistics_ = false;
  bool frozen_ = false;
  torch::Tensor worker_mean_, worker_variance_;
};

TORCH_MODULE(WorkerBatchNorm2d);

}  // namespace impart::models
