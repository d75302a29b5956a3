#include "impart/models/layers/worker_batch_norm.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/layers/cpu_batch_norm.h"
#include "impart/models/layers/device_batch_norm.h"
#include "impart/models/layers/half_batch_norm.h"

namespace impart::models {
namespace {

/// With more workers than this, off the CPU kernel, two transpositions are cheaper than a call
/// each.
constexpr std::int64_t kMostSlices = 8;

/// torch's batch norm of a batch of one worker, or of workers that became channels.
NormalisedBatch call_torch(const torch::Tensor& input, const torch::Tensor& weight,
                           const torch::Tensor& bias, double epsilon) {
  const auto [output, mean, inverse_deviation] = torch::native_batch_norm(
      input, weight, bias, /*running_mean=*/{}, /*running_var=*/{}, /*training=*/true,
      /*momentum=*/0.0, epsilon);
  const torch::Tensor variance = inverse_deviation.detach().pow(-2).sub(epsilon).clamp_min(0);
  return {output, {mean.detach(), variance}};
}

NormalisedBatch normalise_slices(const torch::Tensor& input, const torch::Tensor& weight,
                                 const torch::Tensor& bias, const WorkerLayout& layout,
                                 double epsilon) {
  std::vector<std::int64_t> rows(layout.workers());
  for (std::int64_t w = 0; w < layout.workers(); ++w) rows[w] = layout.rows(w);
  std::vector<torch::Tensor> outputs = torch::split_with_sizes(input, rows);
  std::vector<torch::Tensor> means(rows.size(), torch::zeros_like(weight).detach());
  std::vector<torch::Tensor> variances = means;
  for (std::size_t w = 0; w < rows.size(); ++w) {
    if (outputs[w].numel() == 0) continue;
    auto [output, moments] = call_torch(outputs[w], weight, bias, epsilon);
    outputs[w] = output;
    means[w] = moments.mean;
    variances[w] = moments.variance;
  }
  return {torch::cat(outputs), {torch::stack(means), torch::stack(variances)}};
}

/// Channel c of worker w becomes channel w·C + c of a batch as small as one worker's.
NormalisedBatch normalise_as_channels(const torch::Tensor& input, const torch::Tensor& weight,
                                      const torch::Tensor& bias, std::int64_t workers,
                                      double epsilon) {
  const std::int64_t channels = input.size(1), rows = input.size(0) / workers;
  const torch::Tensor stacked = input.reshape({workers, rows, channels, -1})
                                    .transpose(0, 1)
                                    .reshape({rows, workers * channels, -1});
  auto [output, moments] =
      call_torch(stacked, weight.repeat({workers}), bias.repeat({workers}), epsilon);
  output = output.reshape({rows, workers, channels, -1}).transpose(0, 1).reshape(input.sizes());
  return {
      output.contiguous(input.suggest_memory_format()),
      {moments.mean.reshape({workers, channels}), moments.variance.reshape({workers, channels})}};
}

bool has_equal_rows(const WorkerLayout& layout) {
  for (std::int64_t w = 1; w < layout.workers(); ++w) {
    if (layout.rows(w) != layout.rows(0)) return false;
  }
  return true;
}

void check_layout(const torch::Tensor& input, const WorkerLayout& layout) {
  const auto& starts = layout.starts;
  if (starts.size() < 2 || starts.front() != 0 || !std::ranges::is_sorted(starts) ||
      starts.back() != input.size(0)) {
    throw ConfigError(
        fmt::format("the workers' rows must go from 0 upwards to the batch's {}; they "
                    "are {} offsets that end with {}",
                    input.size(0), starts.size(), starts.empty() ? 0 : starts.back()));
  }
}

}  // namespace

NormalisedBatch normalise_by_worker(const torch::Tensor& input, const torch::Tensor& weight,
                                    const torch::Tensor& bias, const WorkerLayout& layout,
                                    double epsilon) {
  check_layout(input, layout);
  const bool on_cpu = input.device().is_cpu() && input.scalar_type() == torch::kFloat &&
                      weight.scalar_type() == torch::kFloat;
  if (on_cpu) return normalise_on_cpu(input, weight, bias, layout, epsilon);
  if (layout.shared != nullptr) {
    throw ConfigError("batch norm shares statistics with other passes only for floats on the CPU");
  }
  if (layout.workers() > kMostSlices && has_equal_rows(layout) && input.numel() > 0) {
    return normalise_as_channels(input, weight, bias, layout.workers(), epsilon);
  }
  return normalise_slices(input, weight, bias, layout, epsilon);
}

WorkerBatchNorm2dImpl::WorkerBatchNorm2dImpl(const WorkerBatchNormSpec& spec) : spec_(spec) {
  weight = register_parameter("weight", torch::ones({spec.channels}));
  bias = register_parameter("bias", torch::zeros({spec.channels}));
  running_mean = register_buffer("running_mean", torch::zeros({spec.channels}));
  running_var = register_buffer("running_var", torch::ones({spec.channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", torch::zeros({}, torch::kLong));
}

const torch::Tensor& WorkerLayout::starts_on(torch::Device device) const {
  if (!copy.defined() || copy.device() != device || copied != starts) {
    copy = torch::tensor(starts, torch::kInt64).to(device);
    copied = starts;
  }
  return copy;
}

TensorFork WorkerBatchNorm2dImpl::forward_twice(const torch::Tensor& input, const NormTail& tail) {
  const bool with_batch = is_training() || batch_statistics_;
  // The kernel of evaluation has no gradient.
  const bool by_kernel = with_batch || !torch::GradMode::is_enabled();
  if (by_kernel && has_device_batch_norm(input)) {
    return normalise_on_device(input, tail, with_batch);
  }
  if (has_half_batch_norm(input)) return normalise_half(input, tail, with_batch);
  torch::Tensor output =
      with_batch
          ? normalise_batch(input)
          : torch::batch_norm(input, weight, bias, running_mean, running_var, /*training=*/false,
                              spec_.momentum, spec_.epsilon, /*cudnn_enabled=*/true);
  output = apply_tail(std::move(output), tail);
  return {output, output};
}

TensorFork WorkerBatchNorm2dImpl::normalise_half(const torch::Tensor& input, const NormTail& tail,
                                                 bool with_batch) {
  const HalfBatchNormSpec spec{
      .weight = weight, .bias = bias, .epsilon = spec_.epsilon, .tail = tail};
  if (with_batch) {
    const WorkerLayout layout = layout_ ? *layout_ : WorkerLayout{.starts = {0, input.size(0)}};
    check_layout(input, layout);
    prepare_worker_statistics(layout.workers());
    const HalfNormalisedBatch batch = normalise_half_workers(input, layout, spec);
    move_worker_statistics(batch.moments, layout, pixels_of(input));
    return batch.output;
  }
  torch::Tensor output;
  if (torch::GradMode::is_enabled()) {
    // The kernel of evaluation has no gradient.
    output = torch::batch_norm(input.to(torch::kFloat), weight, bias, running_mean, running_var,
                               /*training=*/false, spec_.momentum, spec_.epsilon,
                               /*cudnn_enabled=*/false);
    output = apply_tail(std::move(output), tail).to(input.scalar_type());
  } else {
    output = normalise_half_with(input, {running_mean, running_var}, spec);
  }
  return {output, output};
}

TensorFork WorkerBatchNorm2dImpl::normalise_on_device(const torch::Tensor& input,
                                                      const NormTail& tail, bool with_batch) {
  DeviceBatchNormSpec spec{.weight = weight,
                           .bias = bias,
                           .running_mean = running_mean,
                           .running_variance = running_var,
                           .epsilon = spec_.epsilon,
                           .momentum = spec_.momentum,
                           .tail = tail};
  if (!with_batch) {
    const torch::Tensor output = normalise_with_running(input, spec);
    return {output, output};
  }
  const auto layout =
      layout_ ? layout_
              : std::make_shared<WorkerLayout>(WorkerLayout{.starts = {0, input.size(0)}});
  check_layout(input, *layout);
  if (!frozen_) {
    prepare_worker_statistics(layout->statistics());
    spec.running_mean = worker_mean_.narrow(0, layout->first, layout->workers());
    spec.running_variance = worker_variance_.narrow(0, layout->first, layout->workers());
    spec.batches = num_batches_tracked;
  } else {
    spec.running_mean = spec.running_variance = spec.batches = torch::Tensor();
  }
  return normalise_workers(input, *layout, spec);
}

torch::Tensor WorkerBatchNorm2dImpl::normalise_batch(const torch::Tensor& input) {
  const WorkerLayout layout = layout_ ? *layout_ : WorkerLayout{.starts = {0, input.size(0)}};
  prepare_worker_statistics(layout.workers());
  const auto [output, moments] = normalise_by_worker(input, weight, bias, layout, spec_.epsilon);
  move_worker_statistics(moments, layout, pixels_of(input));
  return output;
}

void WorkerBatchNorm2dImpl::prepare_worker_statistics(std::int64_t workers) {
  if (!worker_mean_.defined()) {
    worker_mean_ = running_mean.detach().repeat({workers, 1});
    worker_variance_ = running_var.detach().repeat({workers, 1});
  }
  if (worker_mean_.size(0) != workers) {
    throw ConfigError(fmt::format("a batch of {} workers, but running statistics of {}", workers,
                                  worker_mean_.size(0)));
  }
  if (worker_mean_.options().type_equal(running_mean.options())) return;
  worker_mean_ = worker_mean_.to(running_mean.options());
  worker_variance_ = worker_variance_.to(running_mean.options());
}

void WorkerBatchNorm2dImpl::move_worker_statistics(const BatchMoments& moments,
                                                   const WorkerLayout& layout,
                                                   std::int64_t pixels) {
  const torch::NoGradGuard no_grad;
  if (!layout.moves_running) return;
  const std::int64_t workers = layout.workers();
  // Per worker: how far the mean moves, how far the variance moves, and n / (n - 1).
  torch::Tensor factors = torch::zeros({3, workers, 1}, torch::kDouble);
  auto factor = factors.accessor<double, 3>();
  for (std::int64_t w = 0; w < workers; ++w) {
    const auto count = static_cast<double>(layout.measured_rows(w) * pixels);
    factor[0][w][0] = count > 0 ? spec_.momentum : 0;
    factor[1][w][0] = count > 1 ? spec_.momentum : 0;
    factor[2][w][0] = count > 1 ? count / (count - 1) : 1;
  }
  factors = factors.to(worker_mean_.options());
  worker_mean_.add_((moments.mean - worker_mean_) * factors[0]);
  worker_variance_.add_((moments.variance * factors[2] - worker_variance_) * factors[1]);
  num_batches_tracked.add_(1);
}

void WorkerBatchNorm2dImpl::set_worker_statistics(const torch::Tensor& mean,
                                                  const torch::Tensor& variance) {
  const torch::NoGradGuard no_grad;
  // In place where possible: recorded graphs know where they are.
  const auto set = [](torch::Tensor& ours, const torch::Tensor& given) {
    const bool fits = ours.defined() && given.defined() && ours.sizes() == given.sizes() &&
                      ours.options().type_equal(given.options());
    if (fits) {
      ours.copy_(given);
    } else {
      ours = given.defined() ? given.detach().clone() : torch::Tensor();
    }
  };
  set(worker_mean_, mean);
  set(worker_variance_, variance);
}

}  // namespace impart::models
