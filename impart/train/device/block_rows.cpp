// Blocks of text that are on a GPU: torch's operations gather a batch by the rows that the step's
// cell names, and leave the signals in their places.

#include <torch/torch.h>

#include "impart/feed/token_feed.h"
#include "impart/models/task_losses.h"
#include "impart/train/device/device_rows.h"

namespace impart::train {
namespace {

class BlockRows final : public DeviceRows {
 public:
  explicit BlockRows(const DeviceRowsSpec& spec)
      : DeviceRows(spec), losses_(models::losses_of(spec.feed->task())) {}

  void differentiate(const models::WorkerLayout& layout, DeviceUpdate& update) override {
    const torch::Tensor first = update.first_row();
    const torch::Tensor rows = first + torch::arange(layout.starts.back(), first.options());
    const feed::Batch batch =
        feed::make_block_batch(*spec_.feed->on_device()->blocks, ids_.index_select(0, rows));
    const auto output = spec_.model->forward(batch.inputs);
    const models::MeasuredLosses losses = losses_.measure(output.logits, batch.targets);
    if (collected_.numel() > 0) {
      collected_.index_copy_(1, rows, spec_.signals->compute(output, batch.targets, losses));
    }
    torch::Tensor minimised = losses.examples;
    if (spec_.label_smoothing > 0) {
      minimised =
          models::smooth_losses(minimised, output.logits, batch.targets, spec_.label_smoothing);
    }
    if (weights_.defined()) minimised = minimised * weights_.index_select(0, rows);
    minimised.sum().backward(update.loss_scale());
  }

 private:
  bool take_data(const feed::DevicePlan&) override { return true; }

  models::TaskLosses losses_;
};

}  // namespace

std::unique_ptr<DeviceRows> make_block_rows(const DeviceRowsSpec& spec) {
  return std::make_unique<BlockRows>(spec);
}

}  // namespace impart::train
