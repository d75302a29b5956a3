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
    const auto outside = [&] {
      const auto places = torch::arange(width, torch::TensorOptions(torch::kInt64).device(device_));
      return places.unsqueeze(0).ge(lengths_.narrow(0, first, rows).unsqueeze(1));
    };
    const bool whole = host_lengths_.narrow(0, first, rows).ge(width).all().item<bool>();
    if (!facts_.is_language) {
      return {.inputs = whole ? tokens : tokens.masked_fill(outside(), facts_.padding),
              .targets = labels_.narrow(0, first, rows)};
    }
    auto inputs = tokens.narrow(1, 0, width - 1), targets = tokens.narrow(1, 1, width - 1);
    if (!whole) {
      const auto ends = outside();
      inputs = inputs.masked_fill(ends.narrow(1, 0, width - 1), 0);
      targets = targets.masked_fill(ends.narrow(1, 1, width - 1), models::kNoTarget);
    }
    return {.inputs = inputs.contiguous(), .targets = targets.contiguous()};
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
      : device_(device),
        examples_(set.starts.size()),
        tokens_(tensors::numbers_tensor(set.tokens).to(torch::kInt32).to(device)),
        starts_(tensors::numbers_tensor(set.starts).to(device)),
        batches_(facts_of(set), device) {}

  torch::Device device() const override { return device_; }
  std::uint64_t examples() const override { return examples_; }
  const data::Task& task() const override { return batches_.task(); }

  void begin(FeedPlan plan) override {
    batches_.begin(plan);
    row_starts_ = starts_.index_select(0, tensors::ids_tensor(plan.ids).to(device_));
    ends_ = std::move(plan.ends);
    next_ = 0;
  }

  Batch next(store::PhaseSeconds&) override {
    const std::int64_t first = next_ == 0 ? 0 : ends_[next_ - 1];
    const std::int64_t rows = ends_[next_++] - first;
    const std::int64_t width = batches_.width(first, rows);
    const auto places = torch::arange(width, torch::TensorOptions(torch::kInt64).device(device_));
    const auto where = (row_starts_.narrow(0, first, rows).unsqueeze(1) + places)
                           .clamp_max(std::max<std::int64_t>(0, tokens_.size(0) - 1));
    const auto tokens = tokens_.index_select(0, where.flatten()).view_as(where).to(torch::kInt64);
    return batches_.make(tokens, first);
  }

 private:
  torch::Device device_;
  std::uint64_t examples_;
  torch::Tensor tokens_, starts_;  ///< on the device
  SequenceBatches batches_;
  torch::Tensor row_starts_;  ///< of the plan's rows
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

std::unique_ptr<BatchFormat> make_token_format(const data::TokenSet& set, torch::Device device) {
  return std::make_unique<TokenFormat>(set, device);
}

std::uint64_t token_row_bytes(const data::TokenSet& set) {
  const auto longest = std::max_element(set.lengths.begin(), set.lengths.end());
  return longest == set.lengths.end() ? 0 : 2 * std::uint64_t{*longest};
}

}  // namespace impart::feed
