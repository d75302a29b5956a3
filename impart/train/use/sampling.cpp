#include "impart/train/use/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/train/use/loaded_model.h"

namespace impart::train {
namespace {

/// Leaves the k largest; of equal ones at the border, the first.
void keep_largest(std::vector<float>& logits, std::size_t k) {
  if (k == 0 || k >= logits.size()) return;
  std::vector<std::size_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto is_larger = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                   is_larger);
  for (std::size_t i = k; i < order.size(); ++i) {
    logits[order[i]] = -std::numeric_limits<float>::infinity();
  }
}

/// "12 7 300"
std::vector<data::Token> read_numbers(const std::string& text, std::uint32_t vocabulary) {
  std::istringstream words(text);
  std::vector<data::Token> tokens;
  for (std::string word; words >> word;) {
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || word.size() > 5 || std::stoul(word) >= vocabulary) {
      throw ConfigError(fmt::format(
          "--prompt: '{}' is no token; the model was trained on token files, so the prompt is "
          "numbers from 0 to {}",
          shorten(word), vocabulary - 1));
    }
    tokens.push_back(static_cast<data::Token>(std::stoul(word)));
  }
  return tokens;
}

}  // namespace

data::Token choose_token(std::vector<float> logits, const SamplingSpec& spec, double uniform) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  if (spec.greedy) return static_cast<data::Token>(largest - logits.begin());
  const float top = *largest;
  keep_largest(logits, spec.top_k);
  std::vector<double> weights;
  double total = 0;
  for (const float logit : logits) {
    weights.push_back(std::exp((static_cast<double>(logit) - top) / spec.temperature));
    total += weights.back();
  }
  double rest = uniform * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    rest -= weights[i];
    if (rest < 0) break;
  }
  return static_cast<data::Token>(last);
}

Writer::Writer(const trained::TrainedModel& model, torch::Device device)
    : card_(trained::read_card(model)), device_(device) {
  if (card_.task != data::kLanguage) {
    throw ConfigError(
        fmt::format("{0}: learned classes, not a language; 'impart predict {0} FILES…' tells them",
                    model.folder));
  }
  network_ = load_model_of(model, card_, device);
  tokenizer_ = trained::read_tokenizer(model);
}

std::vector<data::Token> Writer::read_prompt(const std::string& prompt) const {
  if (!tokenizer_) {
    auto tokens = read_numbers(prompt, card_.tokens->vocabulary);
    if (tokens.empty()) {
      throw ConfigError(
          "the model was trained on token files and has no tokenizer: give the numbers of tokens, "
          "--prompt '12 7'");
    }
    return tokens;
  }
  if (!prompt.empty()) return tokenizer_->encode(prompt, {.path = "--prompt"});
  if (const auto end = tokenizer_->end_of_text()) return {*end};
  return tokenizer_->encode("\n", {.path = "an empty --prompt begins with a line end"});
}

std::vector<float> Writer::next_logits(const std::vector<data::Token>& tokens) const {
  const torch::NoGradGuard no_grad;
  const std::size_t seen = std::min<std::size_t>(tokens.size(), card_.tokens->length);
  const std::vector<std::int64_t> ids(tokens.end() - static_cast<std::ptrdiff_t>(seen),
                                      tokens.end());
  const torch::Tensor input = torch::tensor(ids, torch::kInt64).unsqueeze(0).to(device_);
  const torch::Tensor logits = network_->forward(input)
                                   .logits[0][static_cast<std::int64_t>(seen) - 1]
                                   .to(torch::kFloat32)
                                   .to(torch::kCPU)
                                   .contiguous();
  return {logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel()};
}

std::vector<data::Token> Writer::write(std::vector<data::Token> prompt, const SamplingSpec& spec,
                                       const std::function<void(data::Token)>& on_token) const {
  RandomStream random({.seed = spec.seed, .purpose = Purpose("sample")});
  const std::size_t begin = prompt.size();
  std::vector<data::Token> tokens = std::move(prompt);
  while (tokens.size() - begin < spec.tokens) {
    const data::Token next =
        choose_token(next_logits(tokens), spec, spec.greedy ? 0 : random.uniform());
    if (tokenizer_ && next == tokenizer_->end_of_text()) break;
    tokens.push_back(next);
    if (on_token) on_token(next);
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.end()};
}

}  // namespace impart::train
