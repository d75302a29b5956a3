#include "impart/feed/token_feed.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "impart/models/losses.h"
#include "impart/tensors/id_tensor.h"

namespace impart::feed {
namespace {

/// What is known of every example without reading it.
struct SequenceFacts {
  bool is_language = true;
  std::int64_t length = 0;   ///< inputs of a language model
  std::int64_t longest = 0;  ///< tokens of the longest example
  std::int64_t padding = 0;
  torch::Tensor lengths, labels;  ///< int64 [N], on the host
};

SequenceFacts facts_of(const data::TokenSet& set) {
  SequenceFacts facts{.is_language = set.labels.empty(),
                      .length = set.length,
                      .padding = padding_of(set),
                      .lengths = tensors::numbers_tensor(set.lengths),
                      .labels = tensors::numbers_tensor(set.labels)};
  facts.longest = set.lengths.empty() ? 0 : facts.lengths.max().item<std::int64_t>();
  return facts;
}

/// Whether places of rows of tokens are behind the end of their example.
torch::Tensor outside(const torch::Tensor& tokens, const torch::Tensor& lengths) {
  return torch::arange(tokens.size(1), tokens.options()).unsqueeze(0).ge(lengths.unsqueeze(1));
}

/// Every token and the one that follows it. Undefined lengths: all rows are whole.
Batch make_language_batch(const torch::Tensor& tokens, const torch::Tensor& lengths) {
  const std::int64_t inputs = tokens.size(1) - 1;
  auto read = tokens.narrow(1, 0, inputs), next = tokens.narrow(1, 1, inputs);
  if (lengths.defined()) {
    const torch::Tensor ends = outside(tokens, lengths);
    read = read.masked_fill(ends.narrow(1, 0, inputs), 0);
    next = next.masked_fill(ends.narrow(1, 1, inputs), models::kNoTarget);
  }
  return {.inputs = read.contiguous(), .targets = next.contiguous()};
}

/// int64 [rows, width] from where each row starts; behind the last token of all it is repeated.
torch::Tensor gather_tokens(const torch::Tensor& tokens, const torch::Tensor& starts,
                            std::int64_t width) {
  const auto where = (starts.unsqueeze(1) + torch::arange(width, starts.options()))
                         .clamp_max(std::max<std::int64_t>(0, tokens.size(0) - 1));
  return tokens.index_select(0, where.flatten()).view_as(where).to(torch::kInt64);
}

/// Makes batches out of rows of tokens, whose lengths it knows from the plan.
class SequenceBatches {
 public:
  SequenceBatches(SequenceFacts facts, torch::Device device)
      : facts_(std::move(facts)), device_(device) {}

  const data::Task& task() const { return facts_.is_language ? data::kLanguage : data::kClasses; }

  void begin(const FeedPlan& plan) {
    const auto ids = tensors::ids_tensor(plan.ids);
    host_lengths_ = facts_.lengths.index_select(0, ids);
    lengths_ = host_lengths_.to(device_);
    if (!facts_.is_language) labels_ = facts_.labels.index_select(0, ids).to(device_);
  }

  /// How many tokens a row of the batch needs.
  std::int64_t width(std::int64_t first, std::int64_t rows) const {
    if (facts_.is_language) return facts_.length + 1;
    return std::max<std::int64_t>(1,
                                  host_lengths_.narrow(0, first, rows).max().item<std::int64_t>());
  }

  /// `tokens` is int64 [rows, width]; what is behind the end of an example is anything.
  Batch make(const torch::Tensor& tokens, std::int64_t first) const {
    const std::int64_t rows = tokens.size(0), width = tokens.size(1);
    const bool whole = host_lengths_.narrow(0, first, rows).ge(width).all().item<bool>();
    const torch::Tensor ends = whole ? torch::Tensor() : lengths_.narrow(0, first, rows);
    if (facts_.is_language) return make_language_batch(tokens, ends);
    return {.inputs = whole ? tokens : tokens.masked_fill(outside(tokens, ends), facts_.padding),
            .targets = labels_.narrow(0, first, rows)};
  }

 private:
  SequenceFacts facts_;
  torch::Device device_;
  torch::Tensor host_lengths_;      ///< of the plan's rows
  torch::Tensor lengths_, labels_;  ///< of the plan's rows, on the device
};

class TokenFeed final : public Feed {
 public:
  TokenFeed(const data::TokenSet& set, torch::Device device)
      : blocks_{.tokens = tensors::numbers_tensor(set.tokens).to(torch::kInt32).to(device),
                .starts = tensors::numbers_tensor(set.starts).to(device),
                .lengths = tensors::numbers_tensor(set.lengths).to(device),
                .inputs = set.length},
        batches_(facts_of(set), device) {}

  torch::Device device() const override { return blocks_.tokens.device(); }
  std::uint64_t examples() const override {
    return static_cast<std::uint64_t>(blocks_.starts.size(0));
  }
  const data::Task& task() const override { return batches_.task(); }

  void begin(FeedPlan plan) override {
    batches_.begin(plan);
    ids_ = tensors::ids_tensor(plan.ids).to(device());
    row_starts_ = blocks_.starts.index_select(0, ids_);
    ends_ = std::move(plan.ends);
    next_ = 0;
  }

  Batch next(store::PhaseSeconds&) override {
    const std::int64_t first = next_ == 0 ? 0 : ends_[next_ - 1];
    const std::int64_t rows = ends_[next_++] - first;
    return batches_.make(gather_tokens(blocks_.tokens, row_starts_.narrow(0, first, rows),
                                       batches_.width(first, rows)),
                         first);
  }

  /// Texts with labels have no common length.
  std::optional<DevicePlan> on_device() const override {
    if (task() != data::kLanguage) return std::nullopt;
    return DevicePlan{.blocks = &blocks_, .ids = ids_};
  }

 private:
  DeviceBlocks blocks_;
  SequenceBatches batches_;
  torch::Tensor ids_, row_starts_;  ///< of the plan's rows
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
};

class TokenFormat final : public BatchFormat {
 public:
  TokenFormat(const data::TokenSet& set, torch::Device device)
      : device_(device), batches_(facts_of(set), device) {}

  const data::Task& task() const override { return batches_.task(); }
  void begin(const FeedPlan& plan) override { batches_.begin(plan); }

  Batch make(const torch::Tensor& decoded, std::int64_t first) override {
    const std::int64_t width = batches_.width(first, decoded.size(0));
    // There are no unsigned 16-bit tensors: two bytes become one number by hand.
    const auto pairs = decoded.narrow(1, 0, std::min(2 * width, decoded.size(1))).to(torch::kInt64);
    auto tokens = pairs.view({decoded.size(0), -1, 2});
    tokens = tokens.select(2, 0) + 256 * tokens.select(2, 1);
    if (tokens.size(1) < width)
      tokens = torch::constant_pad_nd(tokens, {0, width - tokens.size(1)});
    return batches_.make(tokens.to(device_), first);
  }

 private:
  torch::Device device_;
  SequenceBatches batches_;
};

}  // namespace

std::unique_ptr<Feed> make_token_feed(const data::TokenSet& set, torch::Device device) {
  return std::make_unique<TokenFeed>(set, device);
}

Batch make_block_batch(const DeviceBlocks& blocks, const torch::Tensor& ids) {
  return make_language_batch(
      gather_tokens(blocks.tokens, blocks.starts.index_select(0, ids), blocks.inputs + 1),
      blocks.lengths.index_select(0, ids));
}

std::unique_ptr<BatchFormat> make_token_format(const data::TokenSet& set, torch::Device device) {
  return std::make_unique<TokenFormat>(set, device);
}

std::uint64_t token_row_bytes(const data::TokenSet& set) {
  const auto longest = std::max_element(set.lengths.begin(), set.lengths.end());
  return longest == set.lengths.end() ? 0 : 2 * std::uint64_t{*longest};
}

}  // namespace impart::feed
