#include "impart/models/device_losses.h"

#include <vector>

#include <torch/torch.h>

#include "impart/cuda/tokens.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {
namespace {

cuda::TokenRows rows_of(const torch::Tensor& logits, const torch::Tensor& targets) {
  return {.logits = logits.data_ptr(),
          .element = logits.scalar_type() == torch::kFloat ? cuda::Element::kFloat
                                                           : cuda::Element::kBfloat16,
          .rows = logits.size(0),
          .classes = logits.size(1),
          .labels = targets.data_ptr<std::int64_t>()};
}

/// The signals that logits alone tell.
std::vector<importance::Signal> signals_of_tokens() {
  std::vector<importance::Signal> signals;
  for (const importance::SignalRow& row : importance::kSignals) {
    if (row.made_from == importance::MadeFrom::kLogits) signals.push_back(row.signal);
  }
  return signals;
}

/// Losses, and signals_of_tokens() as rows of one tensor, empty if they are not wanted.
class TokenLosses : public torch::autograd::Function<TokenLosses> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const torch::Tensor& given,
                                                const torch::Tensor& targets, bool all) {
    const torch::Tensor logits = given.contiguous();
    const auto options = logits.options().dtype(torch::kFloat);
    const std::int64_t rows = logits.size(0);
    torch::Tensor losses = torch::empty({rows}, options), log_sums = torch::empty({rows}, options);
    const auto wanted = all ? signals_of_tokens() : std::vector<importance::Signal>();
    const auto count = static_cast<std::int64_t>(wanted.size());
    torch::Tensor others = torch::empty({count, rows}, options);
    cuda::MeasureTokens call{.tokens = rows_of(logits, targets),
                             .loss = losses.data_ptr<float>(),
                             .log_sum = log_sums.data_ptr<float>()};
    if (all) call.signals = {.out = others.data_ptr<float>(), .stride = rows};
    for (std::int64_t i = 0; i < count; ++i) {
      call.signals.places.set(wanted[static_cast<std::size_t>(i)], i);
    }
    cuda::measure_tokens(call, tensors::current_stream());
    context->save_for_backward({logits, targets, log_sums});
    context->mark_non_differentiable({others});
    return {losses, others};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& logits = saved[0];
    const torch::Tensor scale = gradients[0].to(torch::kFloat).contiguous();
    torch::Tensor gradient = torch::empty_like(logits);
    cuda::differentiate_tokens({.tokens = rows_of(logits, saved[1]),
                                .log_sum = saved[2].data_ptr<float>(),
                                .scale = scale.data_ptr<float>(),
                                .gradient = gradient.data_ptr()},
                               tensors::current_stream());
    return {gradient, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

bool has_device_losses(const torch::Tensor& logits) {
  const auto type = logits.scalar_type();
  return logits.is_cuda() && cuda::has_kernels() &&
         (type == torch::kFloat || type == torch::kBFloat16);
}

TokenMeasures device_token_losses(const torch::Tensor& logits, const torch::Tensor& targets,
                                  bool all) {
  const auto results = TokenLosses::apply(logits, targets.contiguous(), all);
  TokenMeasures measures{.losses = results[0]};
  if (!all) return measures;
  std::int64_t row = 0;
  for (const importance::Signal signal : signals_of_tokens()) {
    measures.signals[signal] = results[1][row++];
  }
  return measures;
}

}  // namespace impart::models
