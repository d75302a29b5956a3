// A step on a GPU that has all examples, or to which they come in turn: recorded once, then
// replayed.

#include <utility>

#include <torch/torch.h>

#include "impart/train/device/device_steps.h"
#include "impart/train/steps/device_end.h"

namespace impart::train {
namespace {

class RecordedStep final : public Step {
 public:
  RecordedStep(const StepContext& context, std::unique_ptr<DeviceEnd> end)
      : context_(context),
        end_(std::move(end)),
        in_turn_(context.feed->on_device()->in_turn),
        steps_({.signals = context.signals,
                .model = context.model,
                .half = context.half_weights != nullptr,
                .label_smoothing = context.config->optimizer.label_smoothing,
                .weighted = context.config->selection.strategy != config::kNoSelection,
                .feed = context.feed}) {}

  void begin_epoch() override {
    steps_.begin_epoch(context_.passes->rows(), context_.passes->weights());
  }

  void run(std::uint32_t step, double learning_rate) override {
    EpochPasses& passes = *context_.passes;
    // A process whose workers have no examples left still takes part in the sum.
    const auto& groups = passes.groups_of(step);
    if (in_turn_ && !groups.empty()) passes.bring_batch();
    const WorkerGroup group = groups.empty() ? WorkerGroup{} : groups.front();
    passes.set_layout(group, step);
    steps_.run({.layout = &passes.layout(),
                .slices = passes.dropout_slices(),
                .update = &end_->update(),
                .first_row = group.row,
                .examples = passes.examples_in(step),
                .learning_rate = learning_rate});
  }

  void end_epoch() override { end_->wait(); }

  torch::Tensor collected(std::int64_t rows) const override {
    end_->wait();
    return steps_.collected(rows);
  }

 private:
  StepContext context_;
  std::unique_ptr<DeviceEnd> end_;
  bool in_turn_;  ///< whether batches have to be brought
  DeviceSteps steps_;
};

}  // namespace

std::unique_ptr<Step> make_recorded_step(const StepContext& context,
                                         std::unique_ptr<DeviceEnd> end) {
  return std::make_unique<RecordedStep>(context, std::move(end));
}

}  // namespace impart::train
