#include "impart/models/text/text_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include "impart/core/error.h"

namespace impart::models {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

EmbeddingImpl::EmbeddingImpl(std::int64_t tokens, std::int64_t width, double deviation)
    : deviation_(deviation) {
  weight = register_parameter("weight", torch::zeros({tokens, width}));
}

torch::Tensor EmbeddingImpl::forward(const torch::Tensor& ids) {
  // On the CPU torch would add up the gradients of a token that is frequent in bfloat16.
  if (half_weight_.defined() && ids.device().is_cpu()) {
    return torch::embedding(half_weight_.to(torch::kFloat), ids).to(half_weight_.scalar_type());
  }
  return torch::embedding(table(), ids);
}

InitialDraw EmbeddingImpl::initial_draw(std::string_view) const {
  return {InitialDraw::Kind::kNormal, deviation_};
}

ProjectionImpl::ProjectionImpl(std::int64_t in, std::int64_t out, double deviation)
    : deviation_(deviation) {
  weight = register_parameter("weight", torch::zeros({in, out}));
  bias = register_parameter("bias", torch::zeros({out}));
}

torch::Tensor ProjectionImpl::forward(const torch::Tensor& rows) {
  std::vector<std::int64_t> shape = rows.sizes().vec();
  shape.back() = bias.size(0);
  return torch::addmm(used(bias, half_bias_), rows.reshape({-1, weight.size(0)}),
                      used(weight, half_weight_))
      .view(shape);
}

InitialDraw ProjectionImpl::initial_draw(std::string_view parameter) const {
  if (parameter == "weight") return {InitialDraw::Kind::kNormal, deviation_};
  return {InitialDraw::Kind::kConstant, 0};
}

LayerNormImpl::LayerNormImpl(std::int64_t width) {
  weight = register_parameter("weight", torch::ones({width}));
  bias = register_parameter("bias", torch::zeros({width}));
}

torch::Tensor LayerNormImpl::forward(const torch::Tensor& rows) {
  if (half_weight_.defined() && rows.device().is_cpu()) {
    // In floats: torch's own sums over rows may be of bfloat16 there.
    const auto type = torch::kFloat;
    return torch::layer_norm(rows.to(type), weight.sizes(), half_weight_.to(type),
                             half_bias_.to(type), kEpsilon)
        .to(rows.scalar_type());
  }
  return torch::layer_norm(rows, weight.sizes(), used(weight, half_weight_), used(bias, half_bias_),
                           kEpsilon);
}

NormedSum LayerNormImpl::add(const torch::Tensor& trunk, const torch::Tensor& branch,
                             const Dropout& dropout) {
  const torch::Tensor& scale = used(weight, half_weight_);
  if (has_device_layer_norm(trunk, branch, scale)) {
    const torch::Tensor kept = branch.defined() ? dropout->forward(branch) : branch;
    return add_and_norm_on_device(trunk, kept, scale, used(bias, half_bias_), kEpsilon);
  }
  const torch::Tensor sum = branch.defined() ? dropout->add(trunk, branch) : trunk;
  return {.sum = sum, .normed = forward(sum)};
}

void check_tokens(const torch::Tensor& ids, std::int64_t length, std::int64_t vocabulary) {
  if (ids.dim() != 2 || ids.scalar_type() != torch::kLong || ids.size(1) > length) {
    throw ConfigError(
        fmt::format("a model of text takes int64 ids, [examples, at most {}], not {} [{}]", length,
                    c10::toString(ids.scalar_type()), fmt::join(ids.sizes().vec(), ", ")));
  }
  if (!ids.device().is_cpu() || ids.numel() == 0) return;
  const torch::Tensor wrong = ids.lt(0).logical_or(ids.ge(vocabulary)).nonzero();
  if (wrong.size(0) == 0) return;
  const auto row = wrong[0][0].item<std::int64_t>(), position = wrong[0][1].item<std::int64_t>();
  throw DataError(fmt::format("row {} of a batch, position {}: token {} in a vocabulary of {}", row,
                              position, ids[row][position].item<std::int64_t>(), vocabulary));
}

}  // namespace impart::models
