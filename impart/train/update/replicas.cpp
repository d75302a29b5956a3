#include "impart/train/update/replicas.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/train/steps/host_sum.h"

namespace impart::train {
namespace {

/// Kernels read 16 bytes at a time, and libraries choose by how far an array is aligned.
constexpr std::int64_t kAlignment = 128;

/// [count, length of the array], every row a copy of it that starts at a multiple of kAlignment.
torch::Tensor repeat_in_rows(const torch::Tensor& array, std::uint32_t count) {
  const std::int64_t length = array.size(0);
  const std::int64_t room = (length + kAlignment - 1) / kAlignment * kAlignment;
  torch::Tensor rows = torch::zeros({count, room}, array.options()).narrow(1, 0, length);
  rows.copy_(array);
  return rows;
}

}  // namespace

Replicas::Replicas(const StepContext& context)
    : context_(context), common_(context.parameters->values()) {
  const torch::NoGradGuard no_grad;
  values_ = repeat_in_rows(common_, count());
  for (std::uint32_t worker = 0; worker < count(); ++worker) {
    optimizers_.push_back(context.optimizer->clone());
  }
  if (context.half_weights == nullptr) return;
  common_halves_ = context.half_weights->values();
  halves_ = repeat_in_rows(common_halves_, count());
}

void Replicas::use(std::uint32_t worker) {
  uses_common_ = false;
  context_.parameters->use(values_[worker]);
  if (halves_.defined()) context_.half_weights->use(halves_[worker]);
}

void Replicas::use_common() {
  if (uses_common_) return;
  uses_common_ = true;
  context_.parameters->use(common_);
  if (halves_.defined()) context_.half_weights->use(common_halves_);
}

void Replicas::use_foreign(const torch::Tensor& values) {
  uses_common_ = false;
  context_.parameters->use(values);
  if (!halves_.defined()) return;
  context_.half_weights->use(torch::empty_like(common_halves_));
  context_.half_weights->refresh();
}

void Replicas::refresh_halves() {
  if (!halves_.defined()) return;
  const torch::NoGradGuard no_grad;
  halves_.copy_(values_);
  common_halves_.copy_(common_);
}

torch::Tensor Replicas::gather(const torch::Tensor& rows) const {
  std::vector<torch::Tensor> ordered;
  for (std::uint32_t worker = 0; worker < count(); ++worker) {
    ordered.push_back(context_.parameters->to_cpu_order(rows[worker]));
  }
  return gather_rows(torch::stack(ordered), context_.config->workers.count, *context_.communicator);
}

void Replicas::scatter(const torch::Tensor& all, torch::Tensor& rows) const {
  for (std::uint32_t worker = 0; worker < count(); ++worker) {
    context_.parameters->copy_from_cpu_order(all[context_.hosted.first + worker], rows[worker]);
  }
}

void Replicas::gather_state(NamedTensors& state) {
  state.emplace_back("replicas", gather(values_));
  for (std::size_t i = 0; i < context_.optimizer->state().size(); ++i) {
    std::vector<torch::Tensor> moments;
    for (Optimizer& optimizer : optimizers_) moments.push_back(optimizer.state()[i]);
    state.emplace_back(fmt::format("replica_optimizers.{}", i), gather(torch::stack(moments)));
  }
  std::vector<float> steps;
  for (const Optimizer& optimizer : optimizers_) {
    steps.push_back(static_cast<float>(optimizer.steps()));
  }
  state.emplace_back("replica_optimizers.steps",
                     gather_rows(torch::tensor(steps).unsqueeze(1), context_.config->workers.count,
                                 *context_.communicator));
}

void Replicas::restore_state(const FindTensor& find) {
  const torch::NoGradGuard no_grad;
  scatter(find("replicas"), values_);
  const torch::Tensor steps = find("replica_optimizers.steps");
  for (std::uint32_t worker = 0; worker < count(); ++worker) {
    const auto row = static_cast<std::int64_t>(context_.hosted.first + worker);
    Optimizer& optimizer = optimizers_[worker];
    for (std::size_t i = 0; i < optimizer.state().size(); ++i) {
      context_.parameters->copy_from_cpu_order(find(fmt::format("replica_optimizers.{}", i))[row],
                                               optimizer.state()[i]);
    }
    optimizer.set_steps(static_cast<std::int64_t>(steps[row].item<float>()));
  }
  refresh_halves();
}

}  // namespace impart::train
