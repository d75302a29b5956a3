#include <utility>

#include <torch/torch.h>

#include "impart/cuda/device.h"
#include "impart/feed/image_turns.h"
#include "impart/feed/stored_feed.h"
#include "impart/tensors/id_tensor.h"

namespace impart::feed {
namespace {

/// What is known of the rows of a plan, on the device.
class PlannedRows {
 public:
  PlannedRows(std::shared_ptr<const data::ExampleSet> set, EpochAugmentation augmentation,
              torch::Device device)
      : set_(std::move(set)),
        augmentation_(std::move(augmentation)),
        device_(device),
        labels_(tensors::numbers_tensor(set_->labels)),
        mean_(torch::tensor(set_->mean, torch::kFloat32).to(device)),
        std_(torch::tensor(set_->std, torch::kFloat32).to(device)) {}

  void begin(const FeedPlan& plan) {
    const auto ids = tensors::ids_tensor(plan.ids);
    targets_ = labels_.index_select(0, ids).to(device_);
    choices_.reset();
    if (!plan.augment || !augmentation_) return;
    const auto choices = put_on_device(augmentation_(plan.epoch), torch::kCPU);
    if (choices.defined()) choices_ = choices.index_select(0, ids).to(device_);
  }

  const torch::Tensor& mean() const { return mean_; }
  const torch::Tensor& std() const { return std_; }
  std::vector<std::int64_t> shape() const { return {set_->channels, set_->height, set_->width}; }
  bool has_choices() const { return choices_.defined(); }

  /// Of these rows; the pixels are where they were decoded.
  ImageTurns::Rows look_up(const torch::Tensor& decoded, std::int64_t first) const {
    const std::int64_t rows = decoded.size(0);
    return {.pixels = decoded.view({rows, set_->channels, set_->height, set_->width}),
            .targets = targets_.narrow(0, first, rows),
            .choices = has_choices() ? choices_.narrow(0, first, rows) : torch::Tensor()};
  }

 private:
  std::shared_ptr<const data::ExampleSet> set_;
  EpochAugmentation augmentation_;
  torch::Device device_;
  torch::Tensor labels_;  ///< of all examples, on the host
  torch::Tensor mean_, std_;
  torch::Tensor targets_, choices_;  ///< of the plan's rows
};

class ImageFormat final : public BatchFormat {
 public:
  explicit ImageFormat(PlannedRows planned, torch::Device device)
      : planned_(std::move(planned)), device_(device) {}

  void begin(const FeedPlan& plan) override { planned_.begin(plan); }

  Batch make(const torch::Tensor& decoded, std::int64_t first) override {
    const ImageTurns::Rows rows = planned_.look_up(decoded, first);
    const DeviceImages images{.pixels = rows.pixels.to(device_),
                              .labels = rows.targets,
                              .mean = planned_.mean(),
                              .std = planned_.std()};
    const auto numbers =
        torch::arange(decoded.size(0), torch::TensorOptions(torch::kInt64).device(device_));
    return {.inputs = make_batch(images, numbers, rows.choices), .targets = rows.targets};
  }

 private:
  PlannedRows planned_;
  torch::Device device_;
};

/// For a GPU: copies run beside what computes.
class ImageTurnsFormat final : public BatchFormat {
 public:
  explicit ImageTurnsFormat(PlannedRows planned)
      : planned_(std::move(planned)), turns_(planned_.shape(), planned_.mean(), planned_.std()) {}

  void begin(const FeedPlan& plan) override {
    turns_.wait();  // copies read what is known of the last plan's rows
    planned_.begin(plan);
    turns_.begin(plan.ends, planned_.has_choices());
  }

  Batch make(const torch::Tensor& decoded, std::int64_t first) override {
    bring(decoded, first);
    const DevicePlan plan = turns_.plan();
    return {.inputs = make_batch(*plan.images, turns_.ids(), plan.choices),
            .targets = planned_.look_up(decoded, first).targets};
  }

  std::optional<DevicePlan> on_device() const override { return turns_.plan(); }
  void bring(const torch::Tensor& decoded, std::int64_t first) override {
    turns_.bring(planned_.look_up(decoded, first));
  }
  bool has_copied() const override { return turns_.has_copied(); }

 private:
  PlannedRows planned_;
  ImageTurns turns_;
};

}  // namespace

std::unique_ptr<BatchFormat> make_image_format(std::shared_ptr<const data::ExampleSet> set,
                                               EpochAugmentation augmentation,
                                               torch::Device device) {
  PlannedRows planned(std::move(set), std::move(augmentation), device);
  if (device.is_cuda() && cuda::has_kernels()) {
    return std::make_unique<ImageTurnsFormat>(std::move(planned));
  }
  return std::make_unique<ImageFormat>(std::move(planned), device);
}

}  // namespace impart::feed
