#include "impart/models/layers/attention.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/models/kernels/attention_kernel.h"
#include "impart/tensors/torch_compat.h"

namespace impart::models {
namespace {

/// Where the heads of a batch lie in the arrays of the kernel.
class Heads {
 public:
  Heads(const torch::Tensor& qkv, const AttentionSpec& spec)
      : width_(qkv.size(2) / 3), examples_(qkv.size(0)) {
    shape = {.tokens = qkv.size(1),
             .heads = spec.heads,
             .width = width_ / spec.heads,
             .causal = spec.causal};
  }

  /// Calls `visit(example, head, scratch)` for every head, on several threads.
  template <class Visit>
  void visit(Visit&& visit) const {
    at::parallel_for(0, examples_ * shape.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> scratch(static_cast<std::size_t>(kernels::attention_scratch(shape)));
      for (std::int64_t i = begin; i < end; ++i) {
        visit(i / shape.heads, i % shape.heads, scratch.data());
      }
    });
  }

  /// Part 0, 1, 2 of qkv: queries, keys, values.
  template <class Float>
  Float* in_qkv(Float* data, std::int64_t part, std::int64_t example, std::int64_t head) const {
    return data + example * shape.tokens * 3 * width_ + part * width_ + head * shape.width;
  }
  template <class Float>
  Float* in_output(Float* data, std::int64_t example, std::int64_t head) const {
    return data + example * shape.tokens * width_ + head * shape.width;
  }
  kernels::AttentionInputs inputs(const float* qkv, const float* bias, std::int64_t example,
                                  std::int64_t head) const {
    return {.q = {in_qkv(qkv, 0, example, head), 3 * width_},
            .k = {in_qkv(qkv, 1, example, head), 3 * width_},
            .v = {in_qkv(qkv, 2, example, head), 3 * width_},
            .key_bias = bias == nullptr ? nullptr : bias + example * shape.tokens};
  }
  std::int64_t width() const { return width_; }

  kernels::AttentionShape shape;

 private:
  std::int64_t width_;
  std::int64_t examples_;
};

/// Null if there is no bias.
const float* data_of(const torch::Tensor& key_bias) {
  return key_bias.numel() == 0 ? nullptr : key_bias.data_ptr<float>();
}

class CpuAttention : public torch::autograd::Function<CpuAttention> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& packed, const torch::Tensor& bias,
                               std::int64_t head_count, bool causal) {
    const torch::Tensor qkv = packed.contiguous(), key_bias = bias.contiguous();
    const Heads heads(qkv, {.heads = head_count, .causal = causal});
    const std::int64_t examples = qkv.size(0), tokens = qkv.size(1);
    torch::Tensor output = torch::empty({examples, tokens, heads.width()}, qkv.options());
    torch::Tensor normaliser = torch::empty({examples, head_count, tokens}, qkv.options());
    const float *in = qkv.data_ptr<float>(), *bias_data = data_of(key_bias);
    float *out = output.data_ptr<float>(), *norm = normaliser.data_ptr<float>();
    heads.visit([&](std::int64_t example, std::int64_t head, float* scratch) {
      kernels::attend(heads.shape, heads.inputs(in, bias_data, example, head),
                      {heads.in_output(out, example, head), heads.width()},
                      norm + (example * head_count + head) * tokens, scratch);
    });
    context->save_for_backward({qkv, key_bias, output, normaliser});
    context->saved_data["heads"] = head_count;
    context->saved_data["causal"] = causal;
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &qkv = saved[0], &key_bias = saved[1];
    const std::int64_t head_count = context->saved_data["heads"].toInt();
    const Heads heads(qkv, {.heads = head_count, .causal = context->saved_data["causal"].toBool()});
    const torch::Tensor grad_output = grads[0].contiguous();
    torch::Tensor gradient = torch::empty_like(qkv);
    const float *in = qkv.data_ptr<float>(), *bias_data = data_of(key_bias);
    const float *out = saved[2].data_ptr<float>(), *norm = saved[3].data_ptr<float>();
    const float* grad_out = grad_output.data_ptr<float>();
    float* grad_in = gradient.data_ptr<float>();
    heads.visit([&](std::int64_t example, std::int64_t head, float* scratch) {
      const std::int64_t width = heads.width(), stride = 3 * width;
      kernels::differentiate_attention(
          heads.shape, heads.inputs(in, bias_data, example, head),
          {.output = {heads.in_output(out, example, head), width},
           .grad_output = {heads.in_output(grad_out, example, head), width},
           .normaliser = norm + (example * head_count + head) * heads.shape.tokens},
          {.q = {heads.in_qkv(grad_in, 0, example, head), stride},
           .k = {heads.in_qkv(grad_in, 1, example, head), stride},
           .v = {heads.in_qkv(grad_in, 2, example, head), stride}},
          scratch);
    });
    return {gradient, {}, {}, {}};
  }
};

torch::Tensor call_torch(const torch::Tensor& qkv, const AttentionSpec& spec,
                         const torch::Tensor& key_bias) {
  const std::int64_t examples = qkv.size(0), tokens = qkv.size(1);
  // Cut before heads become a dimension of their own, so that the way back puts rows of gradients
  // side by side instead of transposing them.
  auto parts = qkv.chunk(3, 2);
  for (auto& part : parts) part = part.view({examples, tokens, spec.heads, -1}).transpose(1, 2);
  torch::Tensor mask;
  if (key_bias.defined()) mask = key_bias.to(qkv.scalar_type()).view({examples, 1, 1, tokens});
  return tensors::scaled_dot_product_attention(parts[0], parts[1], parts[2], mask, spec.causal)
      .transpose(1, 2)
      .reshape({examples, tokens, -1});
}

/// Finite, so that rows in which nothing is seen have no NaN.
constexpr double kHiddenKey = -1e30;

}  // namespace

AttentionRoom room_for(std::int64_t examples, std::int64_t tokens, bool lengths_differ) {
  constexpr std::int64_t kFewest = 4, kTokens = 64;
  const auto round_up = [](std::int64_t number, std::int64_t unit) {
    return (number + unit - 1) / unit * unit;
  };
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(examples)));
  return {.examples = round_up(examples, std::max(kFewest, power / 8)),
          .tokens = lengths_differ ? round_up(tokens, kTokens) : tokens};
}

torch::Tensor attend_with_room(const torch::Tensor& qkv, const AttentionSpec& spec,
                               const torch::Tensor& key_bias, const AttentionRoom& room) {
  const std::int64_t examples = qkv.size(0), tokens = qkv.size(1);
  const std::int64_t more = room.examples - examples, longer = room.tokens - tokens;
  if (more == 0 && longer == 0) return call_torch(qkv.contiguous(), spec, key_bias);
  torch::Tensor bias = key_bias;
  if (!spec.causal && longer > 0 && !bias.defined()) {
    bias = torch::zeros({examples, tokens}, qkv.options().requires_grad(false));
  }
  if (bias.defined()) bias = torch::constant_pad_nd(bias, {0, longer, 0, more}, kHiddenKey);
  const torch::Tensor filled = torch::constant_pad_nd(qkv, {0, 0, 0, longer, 0, more});
  return call_torch(filled, spec, bias).narrow(0, 0, examples).narrow(1, 0, tokens);
}

torch::Tensor self_attention(const torch::Tensor& qkv, const AttentionSpec& spec,
                             const torch::Tensor& key_bias) {
  const bool fits = qkv.dim() == 3 && spec.heads > 0 && qkv.size(2) % (3 * spec.heads) == 0;
  if (!fits || (spec.causal && key_bias.defined())) {
    throw ConfigError(fmt::format("no attention of {} heads for {} numbers per token{}", spec.heads,
                                  qkv.dim() == 3 ? qkv.size(2) : 0,
                                  key_bias.defined() ? " with hidden keys" : ""));
  }
  const bool is_half = qkv.scalar_type() == torch::kBFloat16;
  const bool on_cpu = qkv.device().is_cpu() && (is_half || qkv.scalar_type() == torch::kFloat);
  if (!on_cpu || !kernels::has_attention_kernel(qkv.size(2) / 3 / spec.heads)) {
    if (!qkv.is_cuda()) return call_torch(qkv.contiguous(), spec, key_bias);
    // Training sees one length of blocks; texts that are read to be continued grow.
    const bool lengths_differ = key_bias.defined() || !torch::GradMode::is_enabled();
    return attend_with_room(qkv, spec, key_bias,
                            room_for(qkv.size(0), qkv.size(1), lengths_differ));
  }
  const auto type = torch::kFloat;
  const torch::Tensor bias = key_bias.defined() ? key_bias.to(type) : torch::empty({0}, type);
  return CpuAttention::apply(qkv.to(type), bias, spec.heads, spec.causal).to(qkv.scalar_type());
}

}  // namespace impart::models
