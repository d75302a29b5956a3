#include "impart/models/layers/dropout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/models/kernels/dropout_kernel.h"
#include "impart/models/layers/device_dropout.h"
#include "impart/models/module_tree.h"

namespace impart::models {
namespace {

constexpr std::uint32_t kUnits = 65536;
constexpr std::int64_t kGroupsPerThread = 256;  // at least: 32768 elements

/// Where a worker's part of the mask lies, and its groups in the row of all workers' groups.
struct Part {
  std::uint32_t worker;
  std::int64_t first_group;
  std::int64_t first_element;
  std::int64_t elements;
};

std::int64_t groups_in(std::int64_t elements) {
  return (elements + kernels::kDropoutGroup - 1) / kernels::kDropoutGroup;
}

/// Draws those groups of a part that are among begin .. end - 1 of all groups.
void fill_groups(kernels::DropoutMaskSpec spec, const Part& part, std::int64_t begin,
                 std::int64_t end, float* mask) {
  const std::int64_t first = std::max<std::int64_t>(begin - part.first_group, 0);
  const std::int64_t from = first * kernels::kDropoutGroup;
  const std::int64_t to =
      std::min((end - part.first_group) * kernels::kDropoutGroup, part.elements);
  if (from >= to) return;
  spec.worker = part.worker;
  kernels::draw_dropout_mask(
      spec, first, {mask + part.first_element + from, static_cast<std::size_t>(to - from)});
}

/// The workers' parts of a mask whose rows have `width` elements, less the empty ones.
std::vector<Part> parts_of(const DropoutPlan& plan, std::int64_t width) {
  std::vector<Part> parts;
  std::int64_t group = 0, element = 0;
  for (const auto& slice : plan.slices) {
    if (slice.rows == 0 || width == 0) continue;
    parts.push_back({index(slice.worker), group, element, slice.rows * width});
    group += groups_in(slice.rows * width);
    element += slice.rows * width;
  }
  return parts;
}

void fill_mask(const kernels::DropoutMaskSpec& spec, std::span<const Part> parts, float* mask) {
  if (parts.empty()) return;
  const std::int64_t groups = parts.back().first_group + groups_in(parts.back().elements);
  at::parallel_for(0, groups, kGroupsPerThread, [&](std::int64_t begin, std::int64_t end) {
    auto part = std::ranges::upper_bound(parts, begin, {}, &Part::first_group) - 1;
    for (; part != parts.end() && part->first_group < end; ++part) {
      fill_groups(spec, *part, begin, end, mask);
    }
  });
}

void check_plan(const DropoutPlan* plan, std::int64_t rows) {
  if (plan == nullptr) throw ConfigError("a model with dropout is trained without a dropout plan");
  std::int64_t planned = 0;
  for (const auto& slice : plan->slices) planned += slice.rows;
  if (planned != rows) {
    throw ConfigError(
        fmt::format("a dropout plan for {} rows, but the batch has {}", planned, rows));
  }
}

std::uint32_t units_of(double rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw ConfigError(fmt::format("dropout must be at least 0 and less than 1, not {}", rate));
  }
  return std::min(static_cast<std::uint32_t>(std::lround(rate * kUnits)), kUnits - 1);
}

/// Words 0 and 1 of block `step` of the stream (seed, "dropout", epoch).
PhiloxKey key_of(const DropoutPlan& plan) {
  const PhiloxKey seed = {static_cast<std::uint32_t>(plan.seed),
                          static_cast<std::uint32_t>(plan.seed >> 32)};
  const PhiloxCounter block =
      philox4x32_10({plan.step, Purpose("dropout").code(), plan.epoch, index(kAllWorkers)}, seed);
  return {block[0], block[1]};
}

}  // namespace

void put_key_on_device(DropoutPlan& plan, torch::Device device) {
  if (!plan.device_key.defined()) plan.device_key = make_device_key(device);
  set_device_key(plan.device_key, key_of(plan));
}

DropoutImpl::DropoutImpl(double rate) : dropped_(units_of(rate)) {}

torch::Tensor DropoutImpl::forward(const torch::Tensor& input) const {
  if (!is_active()) return input;
  check_plan(plan_.get(), input.size(0));
  if (has_device_dropout(input, *plan_)) return drop_on_device(input, {}, *plan_, device_spec());
  return (input * draw_mask(input)).to(input.scalar_type());
}

torch::Tensor DropoutImpl::add(const torch::Tensor& trunk, const torch::Tensor& branch) const {
  if (!is_active()) return trunk + branch;
  check_plan(plan_.get(), branch.size(0));
  if (has_device_dropout(branch, *plan_) && trunk.scalar_type() == branch.scalar_type()) {
    return drop_on_device(branch, trunk, *plan_, device_spec());
  }
  const torch::Tensor mask = draw_mask(branch);
  if (trunk.scalar_type() == mask.scalar_type()) return torch::addcmul(trunk, branch, mask);
  return (trunk + branch * mask).to(trunk.scalar_type());
}

void DropoutImpl::set_plan(std::shared_ptr<const DropoutPlan> plan, std::uint32_t layer) {
  plan_ = std::move(plan);
  layer_ = layer;
}

DeviceDropoutSpec DropoutImpl::device_spec() const {
  return {.layer = layer_, .dropped = dropped_, .kept = kept()};
}

/// What elements that stay are multiplied with, so that their expectation stays.
float DropoutImpl::kept() const {
  return static_cast<float>(double{kUnits} / (kUnits - dropped_));
}

torch::Tensor DropoutImpl::draw_mask(const torch::Tensor& like) const {
  torch::Tensor mask = torch::empty(like.sizes(), torch::kFloat);
  const std::int64_t width = like.numel() / std::max<std::int64_t>(1, like.size(0));
  const kernels::DropoutMaskSpec spec{
      .key = key_of(*plan_), .layer = layer_, .dropped = dropped_, .kept = kept()};
  fill_mask(spec, parts_of(*plan_, width), mask.data_ptr<float>());
  return mask.to(like.device());
}

bool set_dropout_plan(torch::nn::Module& model, std::shared_ptr<const DropoutPlan> plan) {
  std::uint32_t layer = 0;
  bool any = false;
  visit_modules(model, [&](const std::string&, torch::nn::Module& module) {
    auto* dropout = module.as<DropoutImpl>();
    if (dropout == nullptr) return;
    dropout->set_plan(plan, layer++);
    any = any || dropout->drops();
  });
  return any;
}

}  // namespace impart::models
