#include "impart/models/layers/half_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "impart/models/kernels/half_norm_kernel.h"
#include "impart/models/layers/cpu_batch_norm.h"

namespace impart::models {
namespace {

using kernels::Half;

/// Elements that are worth a thread of their own.
constexpr std::int64_t kHalvesPerThread = 32768;

torch::Tensor with_channels_last(const torch::Tensor& tensor) {
  return tensor.dim() == 4 ? tensor.contiguous(torch::MemoryFormat::ChannelsLast)
                           : tensor.contiguous();
}

/// Null if it is undefined.
Half* halves_of(const torch::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<Half*>(tensor.data_ptr<at::BFloat16>()) : nullptr;
}

/// The same array from another position on; null stays null.
const Half* after(const Half* halves, std::int64_t elements) {
  return halves == nullptr ? nullptr : halves + elements;
}

/// Some positions of one worker.
struct Portion {
  std::int64_t worker;
  std::int64_t first;  ///< position of the batch
  std::int64_t count;
};

/// The positions of a batch, cut in a way that depends on nothing but its shape and its workers.
class Portions {
 public:
  Portions(const torch::Tensor& x, const std::vector<std::int64_t>& starts)
      : channels_(x.size(1)), workers_(static_cast<std::int64_t>(starts.size()) - 1) {
    const std::int64_t most = kernels::positions_per_part(channels_), pixels = pixels_of(x);
    for (std::int64_t worker = 0; worker < workers_; ++worker) {
      const std::int64_t end = starts[worker + 1] * pixels;
      for (std::int64_t first = starts[worker] * pixels; first < end; first += most) {
        all_.push_back({worker, first, std::min(most, end - first)});
      }
    }
    grain_ =
        std::max<std::int64_t>(1, kHalvesPerThread / std::max<std::int64_t>(1, most * channels_));
  }

  /// Calls function(number, portion, its positions) for all portions, on all threads.
  template <class Function>
  void visit(const Function& function) const {
    at::parallel_for(0, size(), grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        function(i, all_[i], kernels::HalfPositions{all_[i].count, channels_});
      }
    });
  }

  /// Two sums for each channel of each worker, [workers, 2, channels]: what `sum(portion,
  /// positions, first, second)` finds, added up portion by portion.
  template <class Sum>
  std::vector<double> add_up(const Sum& sum) const {
    std::vector<float> parts(static_cast<std::size_t>(size() * 2 * channels_));
    visit([&](std::int64_t i, const Portion& portion, const kernels::HalfPositions& positions) {
      float* const first = parts.data() + i * 2 * channels_;
      sum(portion, positions, first, first + channels_);
    });
    std::vector<double> sums(static_cast<std::size_t>(workers_ * 2 * channels_), 0.0);
    for (std::int64_t i = 0; i < size(); ++i) {
      const float* const part = parts.data() + i * 2 * channels_;
      double* const into = sums.data() + all_[i].worker * 2 * channels_;
      for (std::int64_t j = 0; j < 2 * channels_; ++j) into[j] += double{part[j]};
    }
    return sums;
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(all_.size()); }

  std::int64_t channels_, workers_, grain_ = 1;
  std::vector<Portion> all_;
};

/// Means and variances from sums of x and of x²; zeros where there are no values.
void set_moments(const std::vector<double>& sums, const std::vector<std::int64_t>& counts,
                 torch::Tensor& mean, torch::Tensor& variance) {
  auto means = mean.accessor<float, 2>(), variances = variance.accessor<float, 2>();
  const std::int64_t channels = mean.size(1);
  for (std::int64_t worker = 0; worker < mean.size(0); ++worker) {
    if (counts[worker] == 0) continue;
    const auto count = static_cast<double>(counts[worker]);
    const double* const own = sums.data() + worker * 2 * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double average = own[c] / count;
      means[worker][c] = static_cast<float>(average);
      variances[worker][c] =
          static_cast<float>(std::max(0.0, own[channels + c] / count - average * average));
    }
  }
}

/// What makes y = scale x + shift of a normalised x, [rows of moments, channels] each.
struct Affine {
  Affine(const BatchMoments& moments, const HalfBatchNormSpec& spec) {
    const torch::Tensor s = (moments.variance.to(torch::kDouble) + spec.epsilon).rsqrt();
    const torch::Tensor factor = spec.weight.detach().to(torch::kDouble) * s;
    scale = factor.to(torch::kFloat).contiguous();
    shift = (spec.bias.detach().to(torch::kDouble) - moments.mean.to(torch::kDouble) * factor)
                .to(torch::kFloat)
                .contiguous();
  }
  torch::Tensor scale, shift;
};

torch::Tensor apply_affine(const Portions& portions, const torch::Tensor& x,
                           const torch::Tensor& residual, const Affine& affine, bool relu) {
  torch::Tensor y = torch::empty_like(x);
  const Half *const from = halves_of(x), *const added = halves_of(residual);
  Half* const to = halves_of(y);
  const float *const scale = affine.scale.data_ptr<float>(), *const shift =
                                                                 affine.shift.data_ptr<float>();
  const std::int64_t channels = x.size(1);
  portions.visit(
      [&](std::int64_t, const Portion& portion, const kernels::HalfPositions& positions) {
        const std::int64_t at = portion.first * channels, row = portion.worker * channels;
        kernels::normalise_positions(positions,
                                     {.x = from + at,
                                      .residual = after(added, at),
                                      .scale = scale + row,
                                      .shift = shift + row,
                                      .relu = relu},
                                     to + at);
      });
  return y;
}

/// What a backward pass reads, of the first position and worker.
kernels::HalfNormBackward describe(const torch::autograd::variable_list& saved,
                                   const torch::Tensor& grad_y, const torch::Tensor& grad_y_too) {
  return {.x = halves_of(saved[0]),
          .y = halves_of(saved[4]),
          .grad_y = halves_of(grad_y),
          .grad_y_too = halves_of(grad_y_too),
          .mean = saved[2].data_ptr<float>()};
}

/// The same of a portion.
kernels::HalfNormBackward of_portion(const kernels::HalfNormBackward& whole, const Portion& portion,
                                     std::int64_t channels) {
  const std::int64_t at = portion.first * channels;
  return {.x = whole.x + at,
          .y = after(whole.y, at),
          .grad_y = whole.grad_y + at,
          .grad_y_too = after(whole.grad_y_too, at),
          .mean = whole.mean + portion.worker * channels};
}

/// The factors of the header's HalfGradient for all workers, from their sums.
struct GradientFactors {
  GradientFactors(const std::vector<double>& sums, const std::vector<std::int64_t>& counts,
                  const torch::Tensor& weight, const torch::Tensor& inverse) {
    const std::int64_t workers = inverse.size(0), channels = inverse.size(1);
    factors.resize(static_cast<std::size_t>(3 * workers * channels));
    const auto w = weight.accessor<float, 1>();
    const auto s = inverse.accessor<double, 2>();
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      const auto count = static_cast<double>(std::max<std::int64_t>(1, counts[worker]));
      const double* const own = sums.data() + worker * 2 * channels;
      float* const into = factors.data() + worker * 3 * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        const double scale = double{w[c]} * s[worker][c];
        into[c] = static_cast<float>(scale);
        into[channels + c] =
            static_cast<float>(-scale * s[worker][c] * s[worker][c] * own[channels + c] / count);
        into[2 * channels + c] = static_cast<float>(-scale * own[c] / count);
      }
    }
  }
  kernels::HalfGradient of(std::int64_t worker, std::int64_t channels) const {
    const float* const own = factors.data() + worker * 3 * channels;
    return {.scale = own, .slope = own + channels, .shift = own + 2 * channels};
  }
  std::vector<float> factors;
};

class HalfBatchNorm : public torch::autograd::Function<HalfBatchNorm> {
 public:
  /// Returns the output twice, means and variances.
  static torch::autograd::variable_list forward(
      torch::autograd::AutogradContext* context, const torch::Tensor& input,
      const torch::Tensor& weight, const torch::Tensor& bias, const torch::Tensor& residual_input,
      const WorkerLayout* layout, const HalfBatchNormSpec* spec) {
    (void)bias;  // in the spec, too
    context->set_materialize_grads(false);
    const torch::Tensor x = with_channels_last(input);
    const bool has_residual = spec->tail.residual.defined(), relu = spec->tail.relu;
    const std::int64_t channels = x.size(1);
    const Portions portions(x, layout->starts);
    const Half* const from = halves_of(x);
    std::vector<double> sums =
        portions.add_up([&](const Portion& portion, const kernels::HalfPositions& positions,
                            float* first, float* second) {
          kernels::sum_positions(positions, from + portion.first * channels, first, second);
        });
    if (layout->shared != nullptr) layout->shared->add_up(sums, 2 * channels);
    std::vector<std::int64_t> counts;
    for (std::int64_t worker = 0; worker < layout->workers(); ++worker) {
      counts.push_back(layout->measured_rows(worker) * pixels_of(x));
    }
    torch::Tensor mean = torch::zeros({layout->workers(), channels}, torch::kFloat);
    torch::Tensor variance = torch::zeros_like(mean);
    set_moments(sums, counts, mean, variance);
    const torch::Tensor residual =
        has_residual ? with_channels_last(residual_input.to(x.scalar_type())) : torch::Tensor();
    const torch::Tensor y =
        apply_affine(portions, x, residual, Affine({mean, variance}, *spec), relu);
    context->save_for_backward({x, weight, mean, variance, relu ? y : torch::Tensor()});
    context->saved_data["starts"] = layout->starts;
    context->saved_data["counts"] = counts;
    context->saved_data["shared"] = reinterpret_cast<std::int64_t>(layout->shared);
    context->saved_data["epsilon"] = spec->epsilon;
    context->saved_data["residual"] = has_residual;
    context->mark_non_differentiable({mean, variance});
    return {y, y.detach(), mean, variance};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &variance = saved[3];
    const bool has_first = grads[0].defined(), has_both = has_first && grads[1].defined();
    const torch::Tensor grad_y = with_channels_last(has_first ? grads[0] : grads[1]);
    const torch::Tensor too = has_both ? with_channels_last(grads[1]) : torch::Tensor();
    const std::int64_t channels = x.size(1);
    const Portions portions(x, context->saved_data["starts"].toIntVector());
    const kernels::HalfNormBackward whole = describe(saved, grad_y, too);
    std::vector<double> sums = portions.add_up([&](const Portion& portion,
                                                   const kernels::HalfPositions& positions,
                                                   float* first, float* second) {
      kernels::sum_half_gradients(positions, of_portion(whole, portion, channels), first, second);
    });
    const torch::Tensor inverse =
        (variance.to(torch::kDouble) + context->saved_data["epsilon"].toDouble()).rsqrt();
    const torch::Tensor own =
        torch::from_blob(sums.data(), {variance.size(0), 2, channels}, torch::kDouble);
    const torch::Tensor grad_bias = own.select(1, 0).sum(0).to(torch::kFloat);
    const torch::Tensor grad_weight = (own.select(1, 1) * inverse).sum(0).to(torch::kFloat);
    if (auto* shared = reinterpret_cast<SharedSums*>(context->saved_data["shared"].toInt())) {
      shared->add_up(sums, 2 * channels);
    }
    const GradientFactors factors(sums, context->saved_data["counts"].toIntVector(), saved[1],
                                  inverse);
    torch::Tensor grad_x = torch::empty_like(x), grad_residual;
    if (context->saved_data["residual"].toBool()) grad_residual = torch::empty_like(x);
    Half *const to = halves_of(grad_x), *const to_residual = halves_of(grad_residual);
    portions.visit(
        [&](std::int64_t, const Portion& portion, const kernels::HalfPositions& positions) {
          const std::int64_t at = portion.first * channels;
          kernels::write_half_gradients(positions, of_portion(whole, portion, channels),
                                        factors.of(portion.worker, channels), to + at,
                                        to_residual == nullptr ? nullptr : to_residual + at);
        });
    return {grad_x, grad_weight, grad_bias, grad_residual, {}, {}};
  }
};

}  // namespace

bool has_half_batch_norm(const torch::Tensor& input) {
  return input.device().is_cpu() && input.scalar_type() == torch::kBFloat16 &&
         (input.dim() == 2 || input.dim() == 4);
}

HalfNormalisedBatch normalise_half_workers(const torch::Tensor& input, const WorkerLayout& layout,
                                           const HalfBatchNormSpec& spec) {
  // Autograd takes no undefined tensors as inputs.
  const torch::Tensor residual = spec.tail.residual.defined() ? spec.tail.residual : spec.bias;
  const auto results =
      HalfBatchNorm::apply(input, spec.weight, spec.bias, residual, &layout, &spec);
  TensorFork output{results[0], results[1]};
  if (spec.tail.pool) {
    output.first = apply_tail(output.first, {.pool = true});
    output.second = output.first;
  }
  return {output, {results[2], results[3]}};
}

torch::Tensor normalise_half_with(const torch::Tensor& input, const BatchMoments& moments,
                                  const HalfBatchNormSpec& spec) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor x = with_channels_last(input);
  const torch::Tensor residual = spec.tail.residual.defined()
                                     ? with_channels_last(spec.tail.residual.to(x.scalar_type()))
                                     : torch::Tensor();
  const Portions portions(x, {0, x.size(0)});
  const torch::Tensor y =
      apply_affine(portions, x, residual, Affine(moments, spec), spec.tail.relu);
  return spec.tail.pool ? apply_tail(y, {.pool = true}) : y;
}

}  // namespace impart::models
