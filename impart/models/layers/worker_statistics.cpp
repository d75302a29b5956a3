#include "impart/models/layers/worker_statistics.h"

#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/module_tree.h"

namespace impart::models {
namespace {

/// [2, channels] per layer, from [workers, channels] each, in one row.
torch::Tensor gather(torch::nn::Module& model,
                     const std::function<torch::Tensor(const torch::Tensor&)>& reduce) {
  std::vector<torch::Tensor> pieces;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    const bool trained = layer.worker_mean().defined();
    pieces.push_back(reduce(trained ? layer.worker_mean() : layer.running_mean.unsqueeze(0)));
    pieces.push_back(reduce(trained ? layer.worker_variance() : layer.running_var.unsqueeze(0)));
  });
  if (pieces.empty()) return torch::empty({0});
  return torch::cat(pieces).to(torch::kFloat);
}

std::int64_t hosted_workers(torch::nn::Module& model) {
  std::int64_t workers = 1;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    if (layer.worker_mean().defined()) workers = layer.worker_mean().size(0);
  });
  return workers;
}

}  // namespace

void visit_batch_norms(
    torch::nn::Module& model,
    const std::function<void(const std::string& name, WorkerBatchNorm2dImpl& layer)>& visit) {
  visit_modules(model, [&](const std::string& name, torch::nn::Module& module) {
    if (auto* layer = module.as<WorkerBatchNorm2dImpl>()) visit(name, *layer);
  });
}

void set_worker_layout(torch::nn::Module& model, std::shared_ptr<const WorkerLayout> layout) {
  visit_batch_norms(
      model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) { layer.set_layout(layout); });
}

void set_batch_statistics(torch::nn::Module& model, bool used) {
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    layer.set_batch_statistics(used);
  });
}

void restart_worker_statistics(torch::nn::Module& model) {
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    layer.set_worker_statistics({}, {});
  });
}

torch::Tensor sum_worker_statistics(torch::nn::Module& model) {
  return gather(model, [](const torch::Tensor& workers) { return workers.sum(0); });
}

torch::Tensor copy_worker_statistics(torch::nn::Module& model, std::int64_t worker) {
  return gather(model, [worker](const torch::Tensor& workers) { return workers[worker]; });
}

torch::Tensor list_worker_statistics(torch::nn::Module& model) {
  std::vector<torch::Tensor> columns;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    const bool trained = layer.worker_mean().defined();
    columns.push_back(trained ? layer.worker_mean() : layer.running_mean.unsqueeze(0));
    columns.push_back(trained ? layer.worker_variance() : layer.running_var.unsqueeze(0));
  });
  return columns.empty() ? torch::empty({1, 0}) : torch::cat(columns, 1).to(torch::kFloat);
}

void set_running_statistics(torch::nn::Module& model, const torch::Tensor& statistics) {
  const torch::NoGradGuard no_grad;
  std::int64_t length = 0;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    length += 2 * layer.channels();
  });
  if (statistics.dim() != 1 || statistics.size(0) != length) {
    throw ConfigError(
        fmt::format("{} running statistics for a model that has {}", statistics.numel(), length));
  }
  std::int64_t start = 0;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    layer.running_mean.copy_(statistics.narrow(0, start, layer.channels()));
    layer.running_var.copy_(statistics.narrow(0, start + layer.channels(), layer.channels()));
    start += 2 * layer.channels();
  });
}

void collapse_running_statistics(torch::nn::Module& model, StatisticsOfRun which) {
  const auto statistics =
      which == StatisticsOfRun::kWorker0
          ? copy_worker_statistics(model, 0)
          : sum_worker_statistics(model) / static_cast<double>(hosted_workers(model));
  set_running_statistics(model, statistics);
}

}  // namespace impart::models
