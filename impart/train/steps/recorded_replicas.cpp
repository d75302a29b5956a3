// Steps of replicas on a GPU that has all examples: recorded for each, then replayed side by side.

#include <algorithm>
#include <memory>
#include <vector>

#include <torch/torch.h>

#include "impart/tensors/torch_stream.h"
#include "impart/train/device/device_steps.h"
#include "impart/train/device/device_update.h"
#include "impart/train/device/step_graph.h"
#include "impart/train/steps/replica_pass.h"

namespace impart::train {
namespace {

/// Replicas that run at the same time: kernels of a small batch fill a fraction of a GPU.
constexpr std::size_t kMostLanes = 8;

/// The graphs of a lane run one after the other, so they share memory.
class RecordedReplicas final : public ReplicaPass {
 public:
  RecordedReplicas(const StepContext& context, Replicas& replicas)
      : context_(context),
        replicas_(replicas),
        lanes_(std::min<std::size_t>(replicas.count(), kMostLanes)),
        memories_(lanes_.count()),
        steps_({.signals = context.signals,
                .model = context.model,
                .half = context.half_weights != nullptr,
                .label_smoothing = context.config->optimizer.label_smoothing,
                .weighted = context.config->selection.strategy != config::kNoSelection,
                .feed = context.feed},
               replicas.count()) {
    for (std::uint32_t worker = 0; worker < replicas.count(); ++worker) {
      updates_.push_back(
          std::make_unique<DeviceUpdate>(DeviceUpdateSpec{.optimizer = context.config->optimizer,
                                                          .parameters = context.parameters,
                                                          .half_weights = context.half_weights,
                                                          .state = &replicas.optimizer(worker)}));
    }
  }

  void begin_epoch() override {
    steps_.begin_epoch(context_.passes->rows(), context_.passes->weights());
  }

  void run(std::uint32_t step, double learning_rate) override {
    context_.passes->begin_step(step);
    lanes_.fork();
    for (const WorkerGroup& group : context_.passes->groups_of(step)) {
      const std::size_t lane = group.first % lanes_.count();
      context_.passes->set_dropout_rows(group, step);
      lanes_.run(lane, [&] { train(group, memories_[lane], learning_rate); });
    }
    lanes_.join();
  }

  torch::Tensor collected(std::int64_t rows) const override { return steps_.collected(rows); }

 private:
  /// The group is one worker.
  void train(const WorkerGroup& group, GraphMemory& memory, double learning_rate) {
    const models::WorkerLayout layout{
        .starts = {0, group.rows}, .first = group.first, .of = replicas_.count()};
    steps_.run({.layout = &layout,
                .slices = context_.passes->dropout_slices(),
                .update = updates_[group.first].get(),
                .first_row = group.row,
                .examples = static_cast<std::uint64_t>(group.rows),
                .learning_rate = learning_rate,
                .use_weights = [&] { replicas_.use(group.first); },
                .memory = &memory});
  }

  StepContext context_;
  Replicas& replicas_;
  tensors::StreamLanes lanes_;
  std::vector<GraphMemory> memories_;
  std::vector<std::unique_ptr<DeviceUpdate>> updates_;
  DeviceSteps steps_;
};

}  // namespace

std::unique_ptr<ReplicaPass> make_recorded_replicas(const StepContext& context,
                                                    Replicas& replicas) {
  return std::make_unique<RecordedReplicas>(context, replicas);
}

}  // namespace impart::train
