// A step of workers that each train weights of their own, averaged now and then.

#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/host_sum.h"
#include "impart/train/steps/step.h"

namespace impart::train {
namespace {

class LocalStep final : public Step {
 public:
  explicit LocalStep(const StepContext& context) : context_(context) {
    torch::Tensor& values = context_.parameters->values();
    for (std::uint32_t worker = 0; worker < context_.hosted.count; ++worker) {
      replicas_.push_back({values.clone(), Optimizer(context_.config->optimizer, values)});
    }
  }

  void begin_epoch() override { context_.passes->make_room(); }

  void run(std::uint32_t step, double learning_rate) override {
    for (const WorkerGroup& group : context_.passes->groups_of(step)) {
      train_replica(group, step, learning_rate);
    }
    const config::SyncRule& sync = context_.config->workers.sync;
    const bool due =
        sync.kind == config::SyncRule::Kind::kEverySteps && (step + 1) % sync.steps == 0;
    if (due) average_replicas();
    refresh_half_weights(context_);
  }

  void end_epoch() override {
    average_replicas();
    refresh_half_weights(context_);
  }

  torch::Tensor collected(std::int64_t rows) const override {
    return context_.passes->collected(rows);
  }

  void gather_state(NamedTensors& state) override;
  void restore_state(const FindTensor& find) override;

 private:
  /// The weights and optimiser of one worker.
  struct Replica {
    torch::Tensor values;
    Optimizer optimizer;
  };

  /// The group is one worker.
  void train_replica(const WorkerGroup& group, std::uint32_t step, double learning_rate) {
    Replica& replica = replicas_[group.first];
    FlatParameters& parameters = *context_.parameters;
    const torch::NoGradGuard no_grad;
    parameters.values().copy_(replica.values);
    parameters.gradients().zero_();
    refresh_half_weights(context_);
    {
      const torch::AutoGradMode with_grad(true);
      context_.passes->backward(context_.passes->forward_losses(group, step).mean());
    }
    const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_update);
    replica.optimizer.step(parameters.values(), parameters.gradients(), learning_rate);
    replica.values.copy_(parameters.values());
  }

  void average_replicas() {
    const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_exchange);
    const torch::NoGradGuard no_grad;
    torch::Tensor& mean = context_.parameters->values();
    if (is_exact(context_.config->workers)) {
      std::vector<torch::Tensor> values;
      for (const Replica& replica : replicas_) values.push_back(replica.values);
      sum_exactly(values, mean, *context_.communicator);
    } else {
      mean.zero_();
      for (const Replica& replica : replicas_) mean.add_(replica.values);
      sum_over_processes(mean, *context_.communicator);
    }
    mean.div_(static_cast<double>(context_.config->workers.count));
    for (Replica& replica : replicas_) replica.values.copy_(mean);
  }

  /// One row for each worker of the run, from a row of each hosted one.
  template <class RowOf>
  torch::Tensor gather(RowOf&& row_of) {
    std::vector<torch::Tensor> rows;
    for (Replica& replica : replicas_) rows.push_back(row_of(replica));
    return gather_rows(torch::stack(rows), context_.config->workers.count, *context_.communicator);
  }

  StepContext context_;
  std::vector<Replica> replicas_;  ///< of the hosted workers
};

void LocalStep::gather_state(NamedTensors& state) {
  const FlatParameters& parameters = *context_.parameters;
  state.emplace_back("replicas", gather([&](Replica& replica) {
                       return parameters.to_cpu_order(replica.values);
                     }));
  for (std::size_t i = 0; i < context_.optimizer->state().size(); ++i) {
    state.emplace_back(fmt::format("replica_optimizers.{}", i), gather([&](Replica& replica) {
                         return parameters.to_cpu_order(replica.optimizer.state()[i]);
                       }));
  }
  state.emplace_back("replica_optimizers.steps", gather([](Replica& replica) {
                       return torch::tensor({static_cast<float>(replica.optimizer.steps())});
                     }));
}

void LocalStep::restore_state(const FindTensor& find) {
  const FlatParameters& parameters = *context_.parameters;
  for (std::size_t worker = 0; worker < replicas_.size(); ++worker) {
    const auto row = static_cast<std::int64_t>(context_.hosted.first + worker);
    Replica& replica = replicas_[worker];
    parameters.copy_from_cpu_order(find("replicas")[row], replica.values);
    for (std::size_t i = 0; i < replica.optimizer.state().size(); ++i) {
      parameters.copy_from_cpu_order(find(fmt::format("replica_optimizers.{}", i))[row],
                                     replica.optimizer.state()[i]);
    }
    replica.optimizer.set_steps(
        static_cast<std::int64_t>(find("replica_optimizers.steps")[row].item<float>()));
  }
}

}  // namespace

std::unique_ptr<Step> make_local_step(const StepContext& context) {
  return std::make_unique<LocalStep>(context);
}

}  // namespace impart::train
