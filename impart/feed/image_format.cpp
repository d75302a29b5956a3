#include <utility>

#include <torch/torch.h>

#include "impart/feed/stored_feed.h"
#include "impart/tensors/id_tensor.h"

namespace impart::feed {
namespace {

class ImageFormat final : public BatchFormat {
 public:
  ImageFormat(std::shared_ptr<const data::ExampleSet> set, EpochAugmentation augmentation,
              torch::Device device)
      : set_(std::move(set)),
        augmentation_(std::move(augmentation)),
        device_(device),
        labels_(tensors::numbers_tensor(set_->labels)),
        mean_(torch::tensor(set_->mean, torch::kFloat32).to(device)),
        std_(torch::tensor(set_->std, torch::kFloat32).to(device)) {}

  void begin(const FeedPlan& plan) override {
    const auto ids = tensors::ids_tensor(plan.ids);
    targets_ = labels_.index_select(0, ids).to(device_);
    choices_.reset();
    if (!plan.augment || !augmentation_) return;
    const auto choices = put_on_device(augmentation_(plan.epoch), torch::kCPU);
    if (choices.defined()) choices_ = choices.index_select(0, ids).to(device_);
  }

  Batch make(const torch::Tensor& decoded, std::int64_t first) override {
    const std::int64_t rows = decoded.size(0);
    const auto pixels = decoded.view({rows, set_->channels, set_->height, set_->width}).to(device_);
    const DeviceImages images{.pixels = pixels, .labels = targets_, .mean = mean_, .std = std_};
    const auto numbers = torch::arange(rows, torch::TensorOptions(torch::kInt64).device(device_));
    const auto choices = choices_.defined() ? choices_.narrow(0, first, rows) : choices_;
    return {.inputs = make_batch(images, numbers, choices),
            .targets = targets_.narrow(0, first, rows)};
  }

 private:
  std::shared_ptr<const data::ExampleSet> set_;
  EpochAugmentation augmentation_;
  torch::Device device_;
  torch::Tensor labels_;  ///< of all examples, on the host
  torch::Tensor mean_, std_;
  torch::Tensor targets_, choices_;  ///< of the plan's rows, on the device
};

}  // namespace

std::unique_ptr<BatchFormat> make_image_format(std::shared_ptr<const data::ExampleSet> set,
                                               EpochAugmentation augmentation,
                                               torch::Device device) {
  return std::make_unique<ImageFormat>(std::move(set), std::move(augmentation), device);
}

}  // namespace impart::feed
