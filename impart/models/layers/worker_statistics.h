#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "impart/models/layers/worker_batch_norm.h"

namespace impart::models {

/// The batch norms of a model together: whose rows are whose, and how the workers' running
/// statistics become those that evaluation uses.

/// Calls `visit` with the dotted name and the layer, in the order of the model's parameters.
void visit_batch_norms(
    torch::nn::Module& model,
    const std::function<void(const std::string& name, WorkerBatchNorm2dImpl& layer)>& visit);

/// Gives all batch norms of the model one layout, which its owner may change between two steps.
void set_worker_layout(torch::nn::Module& model, std::shared_ptr<const WorkerLayout> layout);

/// Whether evaluation uses, and updates with, the batch's own statistics (the `paper` evaluation).
void set_batch_statistics(torch::nn::Module& model, bool used);

/// Forgets the workers' statistics: the next step in training starts them from the registered ones.
void restart_worker_statistics(torch::nn::Module& model);

/// Running statistics of all layers in one float tensor, [2 Σ channels]: of each layer in turn the
/// means, then the variances. Either the sum over the workers that this process hosts, or those of
/// one of them. A layer that was never trained counts as one worker with the registered statistics.
torch::Tensor sum_worker_statistics(torch::nn::Module& model);
torch::Tensor copy_worker_statistics(torch::nn::Module& model, std::int64_t worker);

/// Those of all workers that this process hosts, [workers, 2 Σ channels].
torch::Tensor list_worker_statistics(torch::nn::Module& model);

/// Sets the registered running statistics from such a row, on any device. ConfigError if it has
/// another length.
void set_running_statistics(torch::nn::Module& model, const torch::Tensor& statistics);

enum class StatisticsOfRun {
  kMean,     ///< the mean over the workers
  kWorker0,  ///< worker 0's, what PyTorch's DistributedDataParallel keeps
};

/// Sets the registered running statistics from the hosted workers'. That is all there is to do in a
/// run of one process. In a run of several, `mean` is the sum, all-reduced, over the number of all
/// workers, and `worker0` the copy of the process that hosts worker 0, broadcast; then
/// set_running_statistics.
void collapse_running_statistics(torch::nn::Module& model, StatisticsOfRun which);

}  // namespace impart::models
