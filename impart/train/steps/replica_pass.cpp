#include "impart/train/steps/replica_pass.h"

#include <torch/torch.h>

#include "impart/cuda/device.h"

namespace impart::train {
namespace {

/// Worker after worker.
class SingleReplicas final : public ReplicaPass {
 public:
  SingleReplicas(const StepContext& context, Replicas& replicas)
      : context_(context), replicas_(replicas) {
    context.parameters->attach_gradients();  // steps before may have had theirs elsewhere
  }

  void begin_epoch() override { context_.passes->make_room(); }

  void run(std::uint32_t step, double learning_rate) override {
    for (const WorkerGroup& group : context_.passes->groups_of(step)) {
      train(group, step, learning_rate);
    }
  }

  torch::Tensor collected(std::int64_t rows) const override {
    return context_.passes->collected(rows);
  }

 private:
  /// The group is one worker.
  void train(const WorkerGroup& group, std::uint32_t step, double learning_rate) {
    FlatParameters& parameters = *context_.parameters;
    replicas_.use(group.first);
    parameters.gradients().zero_();
    context_.passes->backward(context_.passes->forward_losses(group, step).mean());
    const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_update);
    replicas_.optimizer(group.first)
        .step(parameters.values(), parameters.gradients(), learning_rate);
    refresh_half_weights(context_);
  }

  StepContext context_;
  Replicas& replicas_;
};

}  // namespace

std::unique_ptr<ReplicaPass> make_replica_pass(const StepContext& context, Replicas& replicas) {
  const config::WorkersConfig& workers = context.config->workers;
  const torch::Device device = context.feed->device();
  const auto placed = context.feed->on_device();
  const bool can_record = device.is_cuda() && cuda::has_kernels() && !is_exact(workers) &&
                          workers.batch <= most_rows(workers, device) && placed && !placed->in_turn;
  if (can_record) return make_recorded_replicas(context, replicas);
  return std::make_unique<SingleReplicas>(context, replicas);
}

}  // namespace impart::train
