// What a checkpoint keeps of an engine: optimisers, statistics and replicas of all workers.

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "impart/train/engine.h"

namespace impart::train {

std::vector<std::pair<std::string, torch::Tensor>> Engine::gather_state() {
  std::vector<std::pair<std::string, torch::Tensor>> state;
  const auto add_optimizer = [&](const std::string& name, Optimizer& optimizer) {
    for (std::size_t i = 0; i < optimizer.state().size(); ++i) {
      state.emplace_back(fmt::format("{}.{}", name, i),
                         parameters_.to_cpu_order(optimizer.state()[i]));
    }
    state.emplace_back(name + ".steps", torch::tensor({optimizer.steps()}, torch::kInt64));
  };
  add_optimizer("optimizer", optimizer_);
  if (models::sum_worker_statistics(*spec_.model).numel() > 0) {
    std::vector<torch::Tensor> rows;
    const bool shared =
        spec_.config.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
    for (std::uint32_t worker = 0; worker < hosted_.count; ++worker) {
      rows.push_back(models::copy_worker_statistics(*spec_.model, shared ? 0 : worker));
    }
    state.emplace_back("worker_statistics", gather_rows(torch::stack(rows)));
  }
  if (!is_local()) return state;
  std::vector<torch::Tensor> values;
  for (const Replica& replica : replicas_) {
    values.push_back(parameters_.to_cpu_order(replica.values));
  }
  state.emplace_back("replicas", gather_rows(torch::stack(values)));
  for (std::size_t i = 0; i < optimizer_.state().size(); ++i) {
    std::vector<torch::Tensor> rows;
    for (Replica& replica : replicas_) {
      rows.push_back(parameters_.to_cpu_order(replica.optimizer.state()[i]));
    }
    state.emplace_back(fmt::format("replica_optimizers.{}", i), gather_rows(torch::stack(rows)));
  }
  std::vector<torch::Tensor> steps;
  for (Replica& replica : replicas_) {
    steps.push_back(torch::tensor({static_cast<float>(replica.optimizer.steps())}));
  }
  state.emplace_back("replica_optimizers.steps", gather_rows(torch::stack(steps)));
  return state;
}

void Engine::restore_state(const std::function<torch::Tensor(const std::string&)>& find) {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < optimizer_.state().size(); ++i) {
    parameters_.copy_from_cpu_order(find(fmt::format("optimizer.{}", i)), optimizer_.state()[i]);
  }
  optimizer_.set_steps(find("optimizer.steps").item<std::int64_t>());
  if (models::sum_worker_statistics(*spec_.model).numel() > 0) {
    const bool shared =
        spec_.config.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
    const auto rows =
        find("worker_statistics").narrow(0, hosted_.first, shared ? 1 : hosted_.count);
    std::int64_t start = 0;
    models::visit_batch_norms(
        *spec_.model, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
          const auto mean = rows.narrow(1, start, layer.channels());
          const auto variance = rows.narrow(1, start + layer.channels(), layer.channels());
          layer.set_worker_statistics(mean.to(device()), variance.to(device()));
          start += 2 * layer.channels();
        });
  }
  for (std::size_t worker = 0; worker < replicas_.size(); ++worker) {
    const auto row = static_cast<std::int64_t>(hosted_.first + worker);
    parameters_.copy_from_cpu_order(find("replicas")[row], replicas_[worker].values);
    for (std::size_t i = 0; i < optimizer_.state().size(); ++i) {
      parameters_.copy_from_cpu_order(find(fmt::format("replica_optimizers.{}", i))[row],
                                      replicas_[worker].optimizer.state()[i]);
    }
    replicas_[worker].optimizer.set_steps(
        static_cast<std::int64_t>(find("replica_optimizers.steps")[row].item<float>()));
  }
}

}  // namespace impart::train
