// What a step of a GPT costs, forward and backward, beside the same model written plainly.
//
//   build/release/bin/text_model_bench [MODEL [BATCH [LENGTH [ROUNDS]]]]
//
// Plainly: torch::nn's Linear, LayerNorm, Embedding, GELU and models::Dropout, attention as two
// products and a softmax. Rounds take turns between the plain model and ours, without dropout and
// with 0.1. Ratios are medians over the rounds of neighbouring measurements, since machines are
// noisy. Before anything is timed, both must have the same loss and gradients.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/models/classifier.h"
#include "impart/models/init.h"
#include "impart/models/layers/attention.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/losses.h"
#include "impart/models/text/text_models.h"

namespace impart::bench {
namespace {

constexpr double kDropout = 0.1;
constexpr std::int64_t kVocabulary = 65;

struct Setting {
  std::string model = "gpt-mini";
  std::int64_t batch = 32;
  std::int64_t length = 128;
  int rounds = 15;
};

struct Sizes {
  std::int64_t layers, heads, width;
};

Sizes sizes_of(const std::string& model) {
  if (model == "gpt-tiny") return {4, 4, 128};
  if (model == "gpt2-small") return {12, 12, 768};
  return {6, 6, 192};
}

struct PlainBlockImpl : torch::nn::Module {
  PlainBlockImpl(const Sizes& sizes, std::int64_t length, double dropout) : heads(sizes.heads) {
    const std::int64_t width = sizes.width;
    const auto norm = [&] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})); };
    ln_1 = register_module("ln_1", norm());
    c_attn = register_module("c_attn", torch::nn::Linear(width, 3 * width));
    c_proj = register_module("c_proj", torch::nn::Linear(width, width));
    ln_2 = register_module("ln_2", norm());
    c_fc = register_module("c_fc", torch::nn::Linear(width, 4 * width));
    c_out = register_module("c_out", torch::nn::Linear(4 * width, width));
    drop = register_module("drop", torch::nn::Dropout(dropout));
    later = torch::ones({length, length}, torch::kBool).triu(1);
  }

  torch::Tensor attend(const torch::Tensor& x) {
    const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto parts = c_attn(x).split(width, 2);
    const auto head = [&](const torch::Tensor& part) {
      return part.view({batch, length, heads, -1}).transpose(1, 2);
    };
    torch::Tensor scores = head(parts[0]).matmul(head(parts[1]).transpose(-2, -1));
    scores = scores / std::sqrt(static_cast<double>(width / heads));
    scores = torch::softmax(scores.masked_fill(later, -INFINITY), -1);
    const torch::Tensor mixed = scores.matmul(head(parts[2]));
    return c_proj(mixed.transpose(1, 2).reshape({batch, length, width}));
  }

  torch::Tensor forward(torch::Tensor x) {
    x = x + drop(attend(ln_1(x)));
    return x + drop(c_out(torch::gelu(c_fc(ln_2(x)), "tanh")));
  }

  std::int64_t heads;
  torch::nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  torch::nn::Linear c_attn{nullptr}, c_proj{nullptr}, c_fc{nullptr}, c_out{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::Tensor later;
};
TORCH_MODULE(PlainBlock);

struct PlainGptImpl : torch::nn::Module {
  PlainGptImpl(const Setting& setting, double dropout) {
    const Sizes sizes = sizes_of(setting.model);
    wte = register_module("wte", torch::nn::Embedding(kVocabulary, sizes.width));
    wpe = register_module("wpe", torch::nn::Embedding(setting.length, sizes.width));
    drop = register_module("drop", torch::nn::Dropout(dropout));
    h = register_module("h", torch::nn::ModuleList());
    for (std::int64_t i = 0; i < sizes.layers; ++i) {
      h->push_back(PlainBlock(sizes, setting.length, dropout));
    }
    ln_f =
        register_module("ln_f", torch::nn::LayerNorm(torch::nn::LayerNormOptions({sizes.width})));
  }

  torch::Tensor forward(const torch::Tensor& ids) {
    torch::Tensor x = drop(wte(ids) + wpe(torch::arange(ids.size(1))));
    for (const auto& block : *h) x = block->as<PlainBlockImpl>()->forward(x);
    return torch::linear(ln_f(x), wte->weight);
  }

  torch::nn::Embedding wte{nullptr}, wpe{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::nn::ModuleList h;
  torch::nn::LayerNorm ln_f{nullptr};
};
TORCH_MODULE(PlainGpt);

struct Tokens {
  torch::Tensor ids, targets;
};

Tokens make_tokens(const Setting& setting) {
  torch::Tensor block = torch::empty({setting.batch, setting.length + 1}, torch::kLong);
  RandomStream random({.seed = 1, .purpose = Purpose("bench")});
  auto* data = block.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < block.numel(); ++i) {
    data[i] = static_cast<std::int64_t>(random.below(kVocabulary));
  }
  return {block.narrow(1, 0, setting.length).contiguous(),
          block.narrow(1, 1, setting.length).contiguous()};
}

std::shared_ptr<models::Classifier> make_ours(const Setting& setting, double dropout) {
  auto model =
      find_entry(models::kTextModels, "model", setting.model)
          .function({.vocabulary = kVocabulary, .length = setting.length, .dropout = dropout});
  models::initialise_parameters(*model, 1);
  models::set_dropout_plan(*model, std::make_shared<models::DropoutPlan>(models::DropoutPlan{
                                       .slices = {{WorkerId{0}, setting.batch}}}));
  return model;
}

/// The plain model has the same parameters in the same order, linear layers transposed.
void copy_parameters(models::Classifier& from, torch::nn::Module& to) {
  const torch::NoGradGuard no_grad;
  const auto left = from.parameters();
  auto right = to.parameters();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool linear = left[i].dim() == 2 && i > 1;
    right[i].copy_(linear ? left[i].t() : left[i]);
  }
}

double step_plainly(PlainGpt& model, const Tokens& tokens) {
  model->zero_grad();
  const torch::Tensor logits = model(tokens.ids);
  const torch::Tensor loss =
      torch::cross_entropy_loss(logits.flatten(0, 1), tokens.targets.flatten());
  loss.backward();
  return loss.item<double>();
}

double step_ours(models::Classifier& model, const Tokens& tokens) {
  model.zero_grad();
  const torch::Tensor loss =
      models::example_losses(model.forward(tokens.ids).logits, tokens.targets).mean();
  loss.backward();
  return loss.item<double>();
}

void check(const Setting& setting, const Tokens& tokens) {
  auto ours = make_ours(setting, 0);
  PlainGpt plain(setting, 0);
  copy_parameters(*ours, *plain);
  const double difference = step_ours(*ours, tokens) - step_plainly(plain, tokens);
  require(std::abs(difference) < 1e-4, "loss");
  const auto left = ours->parameters(), right = plain->parameters();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool linear = left[i].dim() == 2 && i > 1;
    const torch::Tensor theirs = linear ? right[i].grad().t() : right[i].grad();
    const torch::Tensor distance = (left[i].grad() - theirs).abs().max();
    require((distance / theirs.abs().max()).item<double>() < 1e-3, fmt::format("gradient {}", i));
  }
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + values.size() / 2);
  return values[values.size() / 2];
}

void compare(const Setting& setting, const Tokens& tokens, double dropout) {
  auto ours = make_ours(setting, dropout);
  PlainGpt plain(setting, dropout);
  copy_parameters(*ours, *plain);
  std::vector<double> our_seconds, plain_seconds, ratios;
  for (int round = -2; round < setting.rounds; ++round) {
    const double theirs = seconds_of([&] { step_plainly(plain, tokens); });
    const double mine = seconds_of([&] { step_ours(*ours, tokens); });
    if (round < 0) continue;
    our_seconds.push_back(mine);
    plain_seconds.push_back(theirs);
    ratios.push_back(mine / theirs);
  }
  fmt::print(
      "{} batch {} length {} dropout {:.1f}: ours {:7.1f} ms, plain {:7.1f} ms, ratio {:.2f}\n",
      setting.model, setting.batch, setting.length, dropout, 1e3 * median(our_seconds),
      1e3 * median(plain_seconds), median(ratios));
}

/// One layer's attention, and one layer's dropout mask.
void time_parts(const Setting& setting) {
  const Sizes sizes = sizes_of(setting.model);
  const torch::Tensor qkv =
      torch::ones({setting.batch, setting.length, 3 * sizes.width}).requires_grad_(true);
  const torch::Tensor x = torch::ones({setting.batch, setting.length, sizes.width});
  models::Dropout dropout(kDropout);
  dropout->set_plan(std::make_shared<models::DropoutPlan>(
                        models::DropoutPlan{.slices = {{WorkerId{0}, setting.batch}}}),
                    0);
  std::vector<double> attention, ours, theirs;
  for (int round = 0; round < setting.rounds; ++round) {
    attention.push_back(
        seconds_of([&] { models::self_attention(qkv, {.heads = sizes.heads}).sum().backward(); }));
    ours.push_back(seconds_of([&] { dropout(x); }));
    theirs.push_back(seconds_of([&] { torch::dropout(x, kDropout, /*train=*/true); }));
  }
  fmt::print(
      "attention of a layer {:.1f} ms; dropout of a layer: ours {:.2f} ms, torch's {:.2f} ms\n",
      1e3 * median(attention), 1e3 * median(ours), 1e3 * median(theirs));
}

void run(const Setting& setting) {
  const Tokens tokens = make_tokens(setting);
  check(setting, tokens);
  compare(setting, tokens, 0);
  compare(setting, tokens, kDropout);
  time_parts(setting);
}

}  // namespace
}  // namespace impart::bench

int main(int count, char** words) {
  impart::bench::Setting setting;
  if (count > 1) setting.model = words[1];
  if (count > 2) setting.batch = std::atoll(words[2]);
  if (count > 3) setting.length = std::atoll(words[3]);
  if (count > 4) setting.rounds = std::atoi(words[4]);
  impart::bench::run(setting);
}
