#include "impart/train/run_statistics.h"

#include <algorithm>
#include <vector>

#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/train/steps/host_sum.h"

namespace impart::train {
namespace {

torch::Device device_of(const models::Classifier& model) {
  return model.parameters().front().device();
}

}  // namespace

RunStatistics::RunStatistics(models::Classifier& model, const config::WorkersConfig& workers,
                             comm::Communicator& communicator)
    : model_(model),
      workers_(workers.count),
      shared_(workers.batch_norm == config::WorkersConfig::BatchNorm::kShared),
      first_only_(workers.running_stats == config::WorkersConfig::RunningStats::kWorker0),
      communicator_(communicator),
      hosted_(placement::hosted_workers(workers.count, communicator.rank(), communicator.size())),
      has_trained_(workers.count) {
  if (shared_ && communicator.size() > 1) {
    throw ConfigError("workers.batch_norm: shared needs all workers in one process");
  }
  const std::int64_t rows = shared_ ? 1 : hosted_.count;
  models::visit_batch_norms(model_, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    layer.set_worker_statistics(layer.running_mean.repeat({rows, 1}),
                                layer.running_var.repeat({rows, 1}));
  });
}

bool RunStatistics::empty() const {
  return models::sum_worker_statistics(model_).numel() == 0;
}

void RunStatistics::note_training(const placement::StepPlan& plan) {
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    if (!plan.batch_of(WorkerId{worker}, 0).empty()) has_trained_[worker] = true;
  }
}

/// All, before anybody has trained.
std::vector<std::int64_t> RunStatistics::measuring_workers() const {
  const bool any = std::find(has_trained_.begin(), has_trained_.end(), true) != has_trained_.end();
  std::vector<std::int64_t> workers;
  for (std::uint32_t worker = 0; worker < workers_; ++worker) {
    if (has_trained_[worker] || !any) workers.push_back(worker);
  }
  return workers;
}

void RunStatistics::collapse() {
  const torch::NoGradGuard no_grad;
  auto statistics = models::sum_worker_statistics(model_);
  if (statistics.numel() == 0) return;
  const torch::Device device = device_of(model_);
  const bool is_mean = !shared_ && !first_only_;
  const std::vector<std::int64_t> workers = measuring_workers();
  if (device.is_cuda() && communicator_.size() == 1) {
    if (is_mean) statistics = models::sum_worker_statistics(model_, workers);
    if (first_only_) statistics = models::copy_worker_statistics(model_, 0);
    if (is_mean) statistics /= static_cast<double>(workers.size());
    models::set_running_statistics(model_, statistics);
    return;
  }
  if (!shared_) {
    // All rows, then summed in the order of workers: the same bits for every number of processes.
    const torch::Tensor all = *gather();
    statistics = first_only_ ? all[0].clone() : torch::zeros_like(all[0]);
    if (is_mean) {
      for (const std::int64_t worker : workers) statistics += all[worker];
      statistics /= static_cast<double>(workers.size());
    }
  }
  models::set_running_statistics(model_, statistics.to(device));
}

std::optional<torch::Tensor> RunStatistics::gather() {
  if (empty()) return std::nullopt;
  std::vector<torch::Tensor> rows;
  for (std::uint32_t worker = 0; worker < hosted_.count; ++worker) {
    rows.push_back(models::copy_worker_statistics(model_, shared_ ? 0 : worker));
  }
  return gather_rows(torch::stack(rows), workers_, communicator_);
}

void RunStatistics::restore(const torch::Tensor& all) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = device_of(model_);
  const auto rows = all.narrow(0, hosted_.first, shared_ ? 1 : hosted_.count);
  std::int64_t start = 0;
  models::visit_batch_norms(model_, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    const auto mean = rows.narrow(1, start, layer.channels());
    const auto variance = rows.narrow(1, start + layer.channels(), layer.channels());
    layer.set_worker_statistics(mean.to(device), variance.to(device));
    start += 2 * layer.channels();
  });
}

}  // namespace impart::train
