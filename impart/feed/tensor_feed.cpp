#include "impart/feed/tensor_feed.h"

#include <utility>

#include <torch/torch.h>

#include "impart/tensors/id_tensor.h"

namespace impart::feed {
namespace {

class TensorFeed final : public Feed {
 public:
  TensorFeed(const TensorSet& set, torch::Device device)
      : inputs_(set.inputs.detach().to(device)), targets_(set.targets.to(device)) {}

  torch::Device device() const override { return inputs_.device(); }
  std::uint64_t examples() const override { return static_cast<std::uint64_t>(targets_.size(0)); }

  void begin(FeedPlan plan) override {
    ends_ = std::move(plan.ends);
    ids_ = tensors::ids_tensor(plan.ids).to(device());
    next_ = 0;
  }

  Batch next(store::PhaseSeconds&) override {
    const std::int64_t first = next_ == 0 ? 0 : ends_[next_ - 1];
    const auto ids = ids_.narrow(0, first, ends_[next_++] - first);
    return {.inputs = inputs_.index_select(0, ids), .targets = targets_.index_select(0, ids)};
  }

 private:
  torch::Tensor inputs_, targets_;
  torch::Tensor ids_;  ///< of the plan's rows
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Feed> make_tensor_feed(const TensorSet& set, torch::Device device) {
  return std::make_unique<TensorFeed>(set, device);
}

}  // namespace impart::feed
