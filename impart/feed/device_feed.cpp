#include <utility>

#include <torch/torch.h>

#include "impart/feed/feed.h"
#include "impart/tensors/id_tensor.h"

namespace impart::feed {
namespace {

class DeviceFeed final : public Feed {
 public:
  DeviceFeed(DeviceImages images, EpochAugmentation augmentation)
      : images_(std::move(images)), augmentation_(std::move(augmentation)) {}

  torch::Device device() const override { return images_.pixels.device(); }
  std::uint64_t examples() const override {
    return static_cast<std::uint64_t>(images_.labels.size(0));
  }

  void begin(FeedPlan plan) override {
    ends_ = std::move(plan.ends);
    ids_ = tensors::ids_tensor(plan.ids).to(device());
    labels_ = images_.labels.index_select(0, ids_);
    choices_.reset();
    if (plan.augment && augmentation_) {
      choices_ = put_on_device(augmentation_(plan.epoch), device());
    }
    next_ = 0;
  }

  std::optional<DevicePlan> on_device() const override {
    return DevicePlan{.images = &images_, .ids = ids_, .choices = choices_};
  }

  Batch next(store::PhaseSeconds&) override {
    const std::int64_t start = next_ == 0 ? 0 : ends_[next_ - 1];
    const std::int64_t rows = ends_[next_++] - start;
    return {.inputs = make_batch(images_, ids_.narrow(0, start, rows), choices_),
            .targets = labels_.narrow(0, start, rows)};
  }

 private:
  DeviceImages images_;
  EpochAugmentation augmentation_;
  torch::Tensor ids_, labels_, choices_;
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Feed> make_device_feed(DeviceImages images, EpochAugmentation augmentation) {
  return std::make_unique<DeviceFeed>(std::move(images), std::move(augmentation));
}

}  // namespace impart::feed
