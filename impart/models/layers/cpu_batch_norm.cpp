#include "impart/models/layers/cpu_batch_norm.h"

#include <algorithm>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "impart/models/kernels/batch_norm_kernel.h"

namespace impart::models {
namespace {

/// Elements that are worth a thread of their own.
constexpr std::int64_t kElementsPerThread = 32768;

/// Calls function(worker, strip) for all channels of all workers that have rows, on all threads.
template <class Function>
void for_each_strip(const torch::Tensor& input, const std::vector<std::int64_t>& starts,
                    const Function& function) {
  const std::int64_t workers = static_cast<std::int64_t>(starts.size()) - 1;
  const std::int64_t channels = input.size(1), pixels = pixels_of(input);
  const std::int64_t width = kernels::channels_per_strip(pixels);
  const std::int64_t strips = (channels + width - 1) / width;
  const std::int64_t elements_per_strip =
      input.numel() / std::max<std::int64_t>(workers * strips, 1);
  const std::int64_t grain =
      std::max<std::int64_t>(1, kElementsPerThread / std::max<std::int64_t>(elements_per_strip, 1));
  at::parallel_for(0, workers * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t worker = task / strips, first_channel = task % strips * width;
      const kernels::BatchNormStrip strip{.first_row = starts[worker],
                                          .rows = starts[worker + 1] - starts[worker],
                                          .first_channel = first_channel,
                                          .channels = std::min(width, channels - first_channel),
                                          .pixels = pixels,
                                          .row_stride = channels * pixels};
      if (strip.rows * pixels > 0) function(worker, strip);
    }
  });
}

/// What a backward pass reads, of channel 0 of worker 0.
kernels::StripBackward read_saved(const torch::autograd::variable_list& saved,
                                  const torch::Tensor& grad_y, double epsilon) {
  return {.x = saved[0].data_ptr<float>(),
          .grad_y = grad_y.data_ptr<float>(),
          .weight = saved[1].data_ptr<float>(),
          .mean = saved[2].data_ptr<float>(),
          .variance = saved[3].data_ptr<float>(),
          .epsilon = epsilon};
}

/// The same of a worker's strip.
kernels::StripBackward of_strip(kernels::StripBackward whole, std::int64_t first_channel,
                                std::int64_t at) {
  whole.weight += first_channel;
  whole.mean += at;
  whole.variance += at;
  return whole;
}

/// The kernel as a differentiable function. Returns output, means and variances.
class CpuBatchNorm : public torch::autograd::Function<CpuBatchNorm> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const torch::Tensor& input,
                                                const torch::Tensor& weight,
                                                const torch::Tensor& bias,
                                                const std::vector<std::int64_t>& starts,
                                                double epsilon) {
    const torch::Tensor x = input.contiguous(), w = weight.contiguous(), b = bias.contiguous();
    const std::int64_t channels = x.size(1);
    const auto workers = static_cast<std::int64_t>(starts.size()) - 1;
    torch::Tensor y = torch::empty_like(x);
    torch::Tensor mean = torch::zeros({workers, channels}, x.options());
    torch::Tensor variance = torch::zeros({workers, channels}, x.options());
    const float *x_data = x.data_ptr<float>(), *w_data = w.data_ptr<float>();
    const float* b_data = b.data_ptr<float>();
    float *y_data = y.data_ptr<float>(), *mean_data = mean.data_ptr<float>();
    float* variance_data = variance.data_ptr<float>();
    for_each_strip(x, starts, [&](std::int64_t worker, const kernels::BatchNormStrip& strip) {
      const std::int64_t at = worker * channels + strip.first_channel;
      kernels::normalise_strip(strip, x_data, w_data + strip.first_channel,
                               b_data + strip.first_channel, epsilon,
                               {mean_data + at, variance_data + at}, y_data);
    });
    context->save_for_backward({x, w, mean, variance});
    context->saved_data["starts"] = starts;
    context->saved_data["epsilon"] = epsilon;
    context->mark_non_differentiable({mean, variance});
    return {y, mean, variance};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &mean = saved[2];
    const torch::Tensor grad_y = grads[0].contiguous();
    const auto starts = context->saved_data["starts"].toIntVector();
    torch::Tensor grad_x = torch::empty_like(x);
    torch::Tensor grad_weight = torch::zeros_like(mean), grad_bias = torch::zeros_like(mean);
    const auto whole = read_saved(saved, grad_y, context->saved_data["epsilon"].toDouble());
    float* grad_x_data = grad_x.data_ptr<float>();
    float* grad_weight_data = grad_weight.data_ptr<float>();
    float* grad_bias_data = grad_bias.data_ptr<float>();
    for_each_strip(x, starts, [&](std::int64_t worker, const kernels::BatchNormStrip& strip) {
      const std::int64_t at = worker * mean.size(1) + strip.first_channel;
      kernels::differentiate_strip(strip, of_strip(whole, strip.first_channel, at), grad_x_data,
                                   grad_weight_data + at, grad_bias_data + at);
    });
    return {grad_x, grad_weight.sum(0), grad_bias.sum(0), {}, {}};
  }
};

/// Two numbers for each channel of each worker: [workers, 2, channels] doubles.
class SumPairs {
 public:
  SumPairs(std::int64_t workers, std::int64_t channels)
      : channels_(channels), sums_(static_cast<std::size_t>(2 * workers * channels), 0.0) {}

  double* first(std::int64_t worker, std::int64_t channel) {
    return &sums_[static_cast<std::size_t>(2 * worker * channels_ + channel)];
  }
  double* second(std::int64_t worker, std::int64_t channel) {
    return first(worker, channel) + channels_;
  }
  void add_up(SharedSums& others) { others.add_up(sums_, 2 * channels_); }

 private:
  std::int64_t channels_;
  std::vector<double> sums_;
};

/// From the sums of x and of x² over all rows; zeros where there are none.
void find_moments(SumPairs& sums, const WorkerLayout& layout, std::int64_t pixels,
                  torch::Tensor& mean, torch::Tensor& variance) {
  auto means = mean.accessor<float, 2>(), variances = variance.accessor<float, 2>();
  for (std::int64_t worker = 0; worker < layout.workers(); ++worker) {
    const auto count = static_cast<double>(layout.measured_rows(worker) * pixels);
    for (std::int64_t channel = 0; count > 0 && channel < mean.size(1); ++channel) {
      const double average = *sums.first(worker, channel) / count;
      const double spread = *sums.second(worker, channel) / count - average * average;
      means[worker][channel] = static_cast<float>(average);
      variances[worker][channel] = static_cast<float>(std::max(0.0, spread));
    }
  }
}

/// The same with statistics that other passes have a share in: forward and backward pass each add
/// up two sums per channel with them.
class SharedBatchNorm : public torch::autograd::Function<SharedBatchNorm> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const torch::Tensor& input,
                                                const torch::Tensor& weight,
                                                const torch::Tensor& bias,
                                                const WorkerLayout* layout, double epsilon) {
    const torch::Tensor x = input.contiguous(), w = weight.contiguous(), b = bias.contiguous();
    const std::int64_t channels = x.size(1), workers = layout->workers();
    const float* const x_data = x.data_ptr<float>();
    SumPairs sums(workers, channels);
    for_each_strip(x, layout->starts, [&](std::int64_t worker, const auto& strip) {
      kernels::sum_strip(strip, x_data, sums.first(worker, strip.first_channel),
                         sums.second(worker, strip.first_channel));
    });
    sums.add_up(*layout->shared);
    torch::Tensor mean = torch::zeros({workers, channels}, x.options());
    torch::Tensor variance = torch::zeros_like(mean);
    find_moments(sums, *layout, pixels_of(x), mean, variance);
    torch::Tensor y = torch::empty_like(x);
    float *y_data = y.data_ptr<float>(), *mean_data = mean.data_ptr<float>();
    float* const variance_data = variance.data_ptr<float>();
    const float *w_data = w.data_ptr<float>(), *b_data = b.data_ptr<float>();
    for_each_strip(x, layout->starts, [&](std::int64_t worker, const auto& strip) {
      const std::int64_t at = worker * channels + strip.first_channel;
      kernels::apply_moments(strip, x_data, w_data + strip.first_channel,
                             b_data + strip.first_channel, epsilon,
                             {mean_data + at, variance_data + at}, y_data);
    });
    context->save_for_backward({x, w, mean, variance});
    context->saved_data["starts"] = layout->starts;
    context->saved_data["rows"] = layout->shared_rows;
    context->saved_data["shared"] = reinterpret_cast<std::int64_t>(layout->shared);
    context->saved_data["epsilon"] = epsilon;
    context->mark_non_differentiable({mean, variance});
    return {y, mean, variance};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& x = saved[0];
    const torch::Tensor grad_y = grads[0].contiguous();
    const auto starts = context->saved_data["starts"].toIntVector();
    const auto rows = context->saved_data["rows"].toIntVector();
    const double epsilon = context->saved_data["epsilon"].toDouble();
    const auto workers = static_cast<std::int64_t>(rows.size());
    const std::int64_t channels = x.size(1), pixels = pixels_of(x);
    const auto whole = read_saved(saved, grad_y, epsilon);
    SumPairs sums(workers, channels);
    torch::Tensor grad_weight = torch::zeros_like(saved[2]);
    torch::Tensor grad_bias = torch::zeros_like(saved[2]);
    auto weights = grad_weight.accessor<float, 2>(), biases = grad_bias.accessor<float, 2>();
    for_each_strip(x, starts, [&](std::int64_t worker, const kernels::BatchNormStrip& strip) {
      const std::int64_t first = strip.first_channel, at = worker * channels + first;
      const kernels::GradientSums own{sums.first(worker, first), sums.second(worker, first)};
      kernels::sum_gradients(strip, of_strip(whole, first, at), own);
      for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
        const double s = kernels::inverse_deviation(whole.variance[at + channel], epsilon);
        weights[worker][first + channel] = static_cast<float>(own.products[channel] * s);
        biases[worker][first + channel] = static_cast<float>(own.grads[channel]);
      }
    });
    sums.add_up(*reinterpret_cast<SharedSums*>(context->saved_data["shared"].toInt()));
    torch::Tensor grad_x = torch::empty_like(x);
    float* const grad_x_data = grad_x.data_ptr<float>();
    for_each_strip(x, starts, [&](std::int64_t worker, const kernels::BatchNormStrip& strip) {
      const std::int64_t first = strip.first_channel, at = worker * channels + first;
      kernels::apply_gradients(strip, of_strip(whole, first, at),
                               {sums.first(worker, first), sums.second(worker, first)},
                               static_cast<double>(rows[worker] * pixels), grad_x_data);
    });
    return {grad_x, grad_weight.sum(0), grad_bias.sum(0), {}, {}};
  }
};

}  // namespace

std::int64_t pixels_of(const torch::Tensor& input) {
  std::int64_t pixels = 1;
  for (std::int64_t dim = 2; dim < input.dim(); ++dim) pixels *= input.size(dim);
  return pixels;
}

NormalisedBatch normalise_on_cpu(const torch::Tensor& input, const torch::Tensor& weight,
                                 const torch::Tensor& bias, const WorkerLayout& layout,
                                 double epsilon) {
  const auto results = layout.shared != nullptr
                           ? SharedBatchNorm::apply(input, weight, bias, &layout, epsilon)
                           : CpuBatchNorm::apply(input, weight, bias, layout.starts, epsilon);
  return {results[0], {results[1], results[2]}};
}

}  // namespace impart::models
