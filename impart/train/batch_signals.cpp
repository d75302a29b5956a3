#include "impart/train/batch_signals.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/importance/visits.h"
#include "impart/models/losses.h"

namespace impart::train {
namespace {

// Logits that are looked at together: as many as a processor's caches hold, and so many that an
// accelerator has enough to do.
constexpr std::int64_t kMostElementsOnCpu = 1 << 18;
constexpr std::int64_t kMostElements = 1 << 25;

}  // namespace

SignalSet::SignalSet(const std::vector<importance::AnyNotion>& notions)
    : names_{"loss", "correct"} {
  importance::StateSet needs = importance::StateSet::kNothing;
  for (const importance::AnyNotion& notion : notions) needs = needs | notion.needs;
  for (const importance::SignalRow& signal : importance::kSignals) {
    const bool known = std::find(names_.begin(), names_.end(), signal.name) != names_.end();
    if (!known && importance::overlap(needs, signal.needed_for)) names_.push_back(signal.name);
  }
}

/// The signals of rows of logits, [N, classes], with labels [N], except those that follow from the
/// losses: [names.size(), N], zeros there.
torch::Tensor SignalSet::compute_rows(const models::Classifier::Output& output,
                                      const torch::Tensor& labels) const {
  const auto has = [&](std::string_view name) {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  };
  const auto logits = output.logits.to(torch::kFloat32);
  const auto column = labels.unsqueeze(1);
  torch::Tensor probabilities, error_norm;
  if (has("entropy") || has("error_norm") || has("gradient_bound")) {
    probabilities = torch::softmax(logits, 1);
    error_norm =
        (probabilities - torch::zeros_like(probabilities).scatter_(1, column, 1.0)).norm(2, 1);
  }
  const auto none = torch::zeros({1}, logits.options()).expand({logits.size(0)});
  std::vector<torch::Tensor> rows;
  for (const std::string_view name : names_) {
    if (name == "loss" || name == "probability") rows.push_back(none);
    if (name == "correct") rows.push_back(logits.argmax(1).eq(labels).to(torch::kFloat32));
    if (name == "margin") {
      const auto others = logits.scatter(1, column, -std::numeric_limits<float>::infinity());
      rows.push_back(logits.gather(1, column).squeeze(1) - std::get<0>(others.max(1)));
    }
    if (name == "entropy") {
      rows.push_back(-(probabilities * torch::log_softmax(logits, 1)).sum(1));
    }
    if (name == "error_norm") rows.push_back(error_norm);
    if (name == "gradient_bound") {
      const auto features = output.features.to(torch::kFloat32);
      rows.push_back(error_norm * (1 + features.square().sum(1)).sqrt());
    }
  }
  return torch::stack(rows);
}

/// Means over the tokens of blocks. Tokens are taken a few at a time, so that no tensor as large as
/// the logits is made.
torch::Tensor SignalSet::compute_blocks(const models::Classifier::Output& output,
                                        const torch::Tensor& targets) const {
  const models::Classifier::Output tokens{output.logits.flatten(0, 1),
                                          output.features.flatten(0, 1)};
  const auto labels = targets.clamp_min(0).flatten();
  const std::int64_t count = labels.size(0);
  const std::int64_t most = labels.device().is_cpu() ? kMostElementsOnCpu : kMostElements;
  const std::int64_t at_once = std::max<std::int64_t>(1, most / tokens.logits.size(1));
  std::vector<torch::Tensor> pieces;
  for (std::int64_t start = 0; start < count; start += at_once) {
    const std::int64_t size = std::min(at_once, count - start);
    pieces.push_back(
        compute_rows({tokens.logits.narrow(0, start, size), tokens.features.narrow(0, start, size)},
                     labels.narrow(0, start, size)));
  }
  std::vector<torch::Tensor> rows;
  for (const auto& signal : torch::cat(pieces, 1).unbind(0)) {
    rows.push_back(models::mean_over_targets(signal.view(targets.sizes()), targets));
  }
  return torch::stack(rows);
}

/// The same from measures of the tokens that were taken with the losses.
torch::Tensor SignalSet::arrange(const models::TokenMeasures& tokens,
                                 const models::Classifier::Output& output,
                                 const torch::Tensor& targets) const {
  const auto of_block = [&](const torch::Tensor& of_tokens) {
    return models::mean_over_targets(of_tokens.view(targets.sizes()), targets);
  };
  const auto none = torch::zeros({1}, tokens.correct.options()).expand({targets.size(0)});
  std::vector<torch::Tensor> rows;
  for (const std::string_view name : names_) {
    if (name == "loss" || name == "probability") rows.push_back(none);
    if (name == "correct") rows.push_back(of_block(tokens.correct));
    if (name == "margin") rows.push_back(of_block(tokens.margin));
    if (name == "entropy") rows.push_back(of_block(tokens.entropy));
    if (name == "error_norm") rows.push_back(of_block(tokens.error_norm));
    if (name == "gradient_bound") {
      const auto squares = output.features.to(torch::kFloat32).square().sum(-1).flatten();
      rows.push_back(of_block(tokens.error_norm * (1 + squares).sqrt()));
    }
  }
  return torch::stack(rows);
}

torch::Tensor SignalSet::compute(const models::Classifier::Output& output,
                                 const torch::Tensor& targets,
                                 const models::MeasuredLosses& losses) const {
  if (!output.features.defined()) {
    throw ConfigError("the model gives no features: what goes into its last linear layer");
  }
  const torch::NoGradGuard no_grad;
  const models::Classifier::Output values{output.logits.detach(), output.features.detach()};
  auto signals = losses.tokens.losses.defined() ? arrange(losses.tokens, values, targets)
                 : values.logits.dim() == 3     ? compute_blocks(values, targets)
                                                : compute_rows(values, targets);
  const auto loss = losses.examples.detach().to(torch::kFloat32);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    auto row = signals[static_cast<std::int64_t>(i)];
    if (names_[i] == "loss") row.copy_(loss);
    if (names_[i] == "probability") row.copy_(torch::exp(-loss));
  }
  return signals;
}

importance::Signals SignalSet::view(std::span<const float> values, std::size_t rows) const {
  importance::Signals signals;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    for (const importance::SignalRow& signal : importance::kSignals) {
      if (signal.name == names_[i]) signals.*signal.values = values.subspan(i * rows, rows);
    }
  }
  return signals;
}

}  // namespace impart::train
