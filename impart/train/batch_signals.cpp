#include "impart/train/batch_signals.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/importance/visits.h"

namespace impart {

SignalSet::SignalSet(const std::vector<NotionEntry>& notions) : names_{"loss", "correct"} {
  StateSet needs = StateSet::kNothing;
  for (const NotionEntry& notion : notions) needs = needs | notion.needs;
  for (const SignalRow& signal : kSignals) {
    const bool known = std::find(names_.begin(), names_.end(), signal.name) != names_.end();
    if (!known && overlap(needs, signal.needed_for)) names_.push_back(signal.name);
  }
}

torch::Tensor SignalSet::compute(const Classifier::Output& output, const torch::Tensor& labels,
                                 const torch::Tensor& losses) const {
  const torch::NoGradGuard no_grad;
  const auto has = [&](std::string_view name) {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  };
  const auto logits = output.logits.detach().to(torch::kFloat32);
  const auto column = labels.unsqueeze(1);
  const auto loss = losses.detach().to(torch::kFloat32);
  std::vector<torch::Tensor> rows = {loss, logits.argmax(1).eq(labels).to(torch::kFloat32)};

  torch::Tensor probabilities, error_norm;
  if (has("entropy") || has("error_norm") || has("gradient_bound")) {
    probabilities = torch::softmax(logits, 1);
    error_norm =
        (probabilities - torch::zeros_like(probabilities).scatter_(1, column, 1.0)).norm(2, 1);
  }
  for (std::size_t i = rows.size(); i < names_.size(); ++i) {
    const std::string_view name = names_[i];
    if (name == "probability") rows.push_back(torch::exp(-loss));
    if (name == "margin") {
      const auto others = logits.scatter(1, column, -std::numeric_limits<float>::infinity());
      rows.push_back(logits.gather(1, column).squeeze(1) - std::get<0>(others.max(1)));
    }
    if (name == "entropy") {
      rows.push_back(-(probabilities * torch::log_softmax(logits, 1)).sum(1));
    }
    if (name == "error_norm") rows.push_back(error_norm);
    if (name == "gradient_bound") {
      const auto features = output.features.detach().to(torch::kFloat32);
      rows.push_back(error_norm * (1 + features.square().sum(1)).sqrt());
    }
  }
  return torch::stack(rows);
}

Signals SignalSet::view(std::span<const float> values, std::size_t rows) const {
  Signals signals;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    for (const SignalRow& signal : kSignals) {
      if (signal.name == names_[i]) signals.*signal.values = values.subspan(i * rows, rows);
    }
  }
  return signals;
}

}  // namespace impart
