#include "impart/train/device/device_rows.h"

#include <algorithm>

#include <torch/torch.h>

namespace impart::train {

bool DeviceRows::begin_epoch(std::int64_t rows, const torch::Tensor& weights) {
  const feed::DevicePlan plan = *spec_.feed->on_device();
  const bool fits = take_data(plan) && ids_.defined() && rows <= ids_.size(0) &&
                    plan.choices.defined() == choices_.defined();
  if (!fits) {
    // A selection's epochs differ in length: room for the longest that is likely.
    const auto examples = static_cast<std::int64_t>(spec_.feed->examples());
    const std::int64_t room = spec_.weighted ? std::max(rows, examples) : rows;
    const auto options = torch::TensorOptions(torch::kFloat).device(device());
    const std::int64_t signals = spec_.signals != nullptr ? spec_.signals->size() : 0;
    ids_ = torch::zeros({room}, plan.ids.options());
    // Those of images that come in turn come with them.
    const bool copied = plan.choices.defined() && !plan.in_turn;
    choices_ = copied ? torch::zeros_like(plan.choices) : plan.choices;
    collected_ = torch::zeros({signals, room}, options);
    if (spec_.weighted) weights_ = torch::ones({room}, options);
  }
  if (weights_.defined()) {
    weights.defined() ? weights_.narrow(0, 0, rows).copy_(weights) : weights_.fill_(1);
  }
  ids_.narrow(0, 0, rows).copy_(plan.ids);
  if (choices_.defined() && !plan.in_turn) choices_.copy_(plan.choices);
  return fits;
}

torch::Tensor DeviceRows::collected(std::int64_t rows) const {
  return collected_.narrow(1, 0, rows).to(torch::kCPU).contiguous();
}

std::unique_ptr<DeviceRows> make_device_rows(const DeviceRowsSpec& spec) {
  const bool images = spec.feed->on_device()->images != nullptr;
  return (images ? make_image_rows : make_block_rows)(spec);
}

}  // namespace impart::train
