#include "impart/train/run_statistics.h"

#include <algorithm>
#include <vector>

#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "impart/train/steps/host_sum.h"

namespace impart::train {
namespace {

torch::Device device_of(const models::Classifier& model) {
  return model.parameters().front().device();
}

/// The mean of rows, added up in their order: the same bits for every number of processes.
torch::Tensor mean_of(const torch::Tensor& rows) {
  torch::Tensor sum = torch::zeros_like(rows[0]);
  for (std::int64_t row = 0; row < rows.size(0); ++row) sum += rows[row];
  return sum / static_cast<double>(rows.size(0));
}

/// Calls visit(layer, first), whose means are at `first` of a row and variances behind them.
template <class Visit>
void visit_statistics(models::Classifier& model, const Visit& visit) {
  std::int64_t first = 0;
  models::visit_batch_norms(model, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    visit(layer, first);
    first += 2 * layer.channels();
  });
}

/// The statistics of all workers' values together, if each had equally many: in the variance is
/// also how far the workers' means are apart.
torch::Tensor pool(models::Classifier& model, const torch::Tensor& rows) {
  torch::Tensor pooled = mean_of(rows);
  const torch::Tensor apart = mean_of((rows - pooled).square());
  visit_statistics(model, [&](models::WorkerBatchNorm2dImpl& layer, std::int64_t first) {
    const std::int64_t channels = layer.channels();
    pooled.narrow(0, first + channels, channels).add_(apart.narrow(0, first, channels));
  });
  return pooled;
}

}  // namespace

RunStatistics::RunStatistics(models::Classifier& model, const config::WorkersConfig& workers,
                             const NormExchange& norms, comm::Communicator& communicator)
    : model_(model),
      which_(workers.running_stats),
      norms_(norms),
      communicator_(communicator),
      has_trained_(workers.count) {
  const std::int64_t rows = norms_.count();
  models::visit_batch_norms(model_, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
    layer.set_worker_statistics(layer.running_mean.repeat({rows, 1}),
                                layer.running_var.repeat({rows, 1}));
    empty_ = false;
  });
}

void RunStatistics::note_training(const placement::StepPlan& plan) {
  for (std::uint32_t worker = 0; worker < has_trained_.size(); ++worker) {
    if (!plan.batch_of(WorkerId{worker}, 0).empty()) has_trained_[worker] = true;
  }
}

/// The rows of workers that have trained, or all if none has.
torch::Tensor RunStatistics::select_trained(const torch::Tensor& all) const {
  if (trained_alike()) return all;
  std::vector<std::int64_t> trained;
  for (std::size_t worker = 0; worker < has_trained_.size(); ++worker) {
    if (has_trained_[worker]) trained.push_back(static_cast<std::int64_t>(worker));
  }
  return all.index_select(0, torch::tensor(trained, torch::kInt64).to(all.device()));
}

void RunStatistics::collapse() {
  if (empty()) return;
  const torch::NoGradGuard no_grad;
  const torch::Device device = device_of(model_);
  const placement::NormGroups& groups = norms_.groups();
  const bool equal_groups = groups.workers % groups.size == 0;
  if (device.is_cuda() && communicator_.size() == 1 && equal_groups && trained_alike() &&
      which_ != RunningStats::kPooled) {
    const bool first_only = which_ == RunningStats::kWorker0;
    models::collapse_running_statistics(
        model_, first_only ? models::StatisticsOfRun::kWorker0 : models::StatisticsOfRun::kMean);
    return;
  }
  if (groups.size == groups.workers) {
    models::set_running_statistics(model_, models::copy_worker_statistics(model_, 0));
    return;
  }
  const torch::Tensor all = *gather();
  const torch::Tensor trained = select_trained(all);
  const torch::Tensor statistics = which_ == RunningStats::kWorker0  ? all[0]
                                   : which_ == RunningStats::kPooled ? pool(model_, trained)
                                                                     : mean_of(trained);
  models::set_running_statistics(model_, statistics.to(device));
}

void RunStatistics::show(std::uint32_t worker) {
  const torch::NoGradGuard no_grad;
  const auto all = gather();
  if (all) models::set_running_statistics(model_, (*all)[worker].to(device_of(model_)));
}

/// Of each hosted worker, the row of its group.
torch::Tensor RunStatistics::places() const {
  std::vector<std::int64_t> rows(norms_.hosted().count);
  for (std::uint32_t worker = 0; worker < rows.size(); ++worker) {
    rows[worker] = norms_.place_of(worker);
  }
  return torch::tensor(rows, torch::kInt64);
}

std::optional<torch::Tensor> RunStatistics::gather() {
  if (empty()) return std::nullopt;
  const torch::Tensor groups = models::list_worker_statistics(model_);
  const torch::Tensor rows = groups.index_select(0, places().to(groups.device()));
  return gather_rows(rows, norms_.groups().workers, communicator_);
}

void RunStatistics::restore(const torch::Tensor& all) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = device_of(model_);
  // Workers of a group have equal rows.
  torch::Tensor rows = torch::empty({norms_.count(), all.size(1)}, all.options());
  rows.index_copy_(0, places(), all.narrow(0, norms_.hosted().first, norms_.hosted().count));
  visit_statistics(model_, [&](models::WorkerBatchNorm2dImpl& layer, std::int64_t first) {
    const auto mean = rows.narrow(1, first, layer.channels());
    const auto variance = rows.narrow(1, first + layer.channels(), layer.channels());
    layer.set_worker_statistics(mean.to(device), variance.to(device));
  });
}

}  // namespace impart::train
