#include "impart/train/batch_signals.h"

#include <algorithm>
#include <limits>

#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/importance/logit_signals.h"
#include "impart/models/losses.h"

namespace impart::train {
namespace {

using importance::Signal;

// Logits that are looked at together: as many as a processor's caches hold, and so many that an
// accelerator has enough to do.
constexpr std::int64_t kMostElementsOnCpu = 1 << 18;
constexpr std::int64_t kMostElements = 1 << 25;

/// Rows of logits, [N, classes], with labels [N], and what several signals are made from, computed
/// when the first of them asks.
class RowTensors {
 public:
  RowTensors(const models::Classifier::Output& output, const torch::Tensor& targets)
      : logits(output.logits.to(torch::kFloat32)),
        labels(targets),
        column(targets.unsqueeze(1)),
        given_features_(output.features) {}

  const torch::Tensor& probabilities() {
    if (!probabilities_.defined()) probabilities_ = torch::softmax(logits, 1);
    return probabilities_;
  }
  const torch::Tensor& error_norm() {
    if (!error_norm_.defined()) {
      const torch::Tensor& p = probabilities();
      error_norm_ = (p - torch::zeros_like(p).scatter_(1, column, 1.0)).norm(2, 1);
    }
    return error_norm_;
  }
  torch::Tensor features() const { return given_features_.to(torch::kFloat32); }

  const torch::Tensor logits, labels, column;

 private:
  torch::Tensor given_features_, probabilities_, error_norm_;
};

torch::Tensor margin_of(const RowTensors& rows) {
  const auto others = rows.logits.scatter(1, rows.column, -std::numeric_limits<float>::infinity());
  return rows.logits.gather(1, rows.column).squeeze(1) - std::get<0>(others.max(1));
}

/// √(1 + ‖h‖²)
torch::Tensor feature_factor(const torch::Tensor& features) {
  return (1 + features.square().sum(-1)).sqrt();
}

/// A signal of rows, [N]; zeros for those that follow from the losses.
torch::Tensor signal_of(Signal signal, RowTensors& rows) {
  switch (signal) {
    case Signal::kLoss:
    case Signal::kProbability:
      return torch::zeros({1}, rows.logits.options()).expand({rows.logits.size(0)});
    case Signal::kCorrect:
      return rows.logits.argmax(1).eq(rows.labels).to(torch::kFloat32);
    case Signal::kMargin:
      return margin_of(rows);
    case Signal::kEntropy:
      return -(rows.probabilities() * torch::log_softmax(rows.logits, 1)).sum(1);
    case Signal::kErrorNorm:
      return rows.error_norm();
    case Signal::kGradientBound:
      return rows.error_norm() * feature_factor(rows.features());
  }
  throw Error("a signal that torch does not compute");
}

}  // namespace

SignalSet::SignalSet(const std::vector<importance::AnyNotion>& notions)
    : rows_{Signal::kLoss, Signal::kCorrect} {
  importance::StateSet needs = importance::StateSet::kNothing;
  for (const importance::AnyNotion& notion : notions) needs = needs | notion.needs;
  for (const Signal signal : importance::signals_for(needs)) {
    if (std::find(rows_.begin(), rows_.end(), signal) == rows_.end()) rows_.push_back(signal);
  }
}

/// The signals of rows of logits, [N, classes], with labels [N], except those that follow from the
/// losses: [size(), N], zeros there.
torch::Tensor SignalSet::compute_rows(const models::Classifier::Output& output,
                                      const torch::Tensor& labels) const {
  RowTensors tensors(output, labels);
  std::vector<torch::Tensor> rows;
  for (const Signal signal : rows_) rows.push_back(signal_of(signal, tensors));
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
  const auto none = torch::zeros({1}, tokens.losses.options()).expand({targets.size(0)});
  std::vector<torch::Tensor> rows;
  for (const Signal signal : rows_) {
    switch (importance::row_of(signal).made_from) {
      case importance::MadeFrom::kLosses:
        rows.push_back(none);
        break;
      case importance::MadeFrom::kLogits:
        rows.push_back(of_block(tokens.signals[signal]));
        break;
      case importance::MadeFrom::kFeatures:
        rows.push_back(of_block(tokens.signals[Signal::kErrorNorm] *
                                feature_factor(output.features.to(torch::kFloat32)).flatten()));
        break;
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
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    auto row = signals[static_cast<std::int64_t>(i)];
    if (rows_[i] == Signal::kLoss) row.copy_(loss);
    if (rows_[i] == Signal::kProbability) row.copy_(torch::exp(-loss));
  }
  return signals;
}

importance::Signals SignalSet::view(std::span<const float> values, std::size_t rows) const {
  importance::Signals signals;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    signals.*importance::row_of(rows_[i]).values = values.subspan(i * rows, rows);
  }
  return signals;
}

}  // namespace impart::train
