#include "impart/feed/token_feed.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/data/text/token_decoder.h"
#include "impart/models/losses.h"
#include "tests/train/token_fixture.h"

namespace impart::feed {
namespace {

using namespace testing;

FeedPlan plan_of(const std::vector<std::uint64_t>& ids, std::vector<std::int64_t> ends) {
  FeedPlan plan{.ends = std::move(ends)};
  for (const std::uint64_t id : ids) plan.ids.push_back(ExampleId{id});
  plan.workers.assign(ids.size(), WorkerId{0});
  return plan;
}

/// What the batch of these examples must be, token by token.
Batch expected(const data::TokenSet& set, const std::vector<std::uint64_t>& ids) {
  std::int64_t width = 1;
  for (const std::uint64_t id : ids) width = std::max<std::int64_t>(width, set.lengths[id]);
  if (set.is_corpus()) width = set.length;
  const auto rows = static_cast<std::int64_t>(ids.size());
  const std::int64_t padding = set.is_corpus() ? 0 : std::int64_t{padding_of(set)};
  Batch batch{.inputs = torch::full({rows, width}, padding, torch::kInt64),
              .targets = torch::full({rows, width}, models::kNoTarget, torch::kInt64)};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto tokens = set.example(ExampleId{ids[static_cast<std::size_t>(row)]});
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      if (place < width) batch.inputs[row][place] = int{tokens[i]};
      if (set.is_corpus() && i > 0) batch.targets[row][place - 1] = int{tokens[i]};
    }
  }
  if (set.is_corpus()) return batch;
  batch.targets = torch::zeros({rows}, torch::kInt64);
  for (std::int64_t row = 0; row < rows; ++row) {
    batch.targets[row] = static_cast<std::int64_t>(set.labels[ids[static_cast<std::size_t>(row)]]);
  }
  return batch;
}

void expect_equal(const Batch& found, const Batch& wanted) {
  EXPECT_TRUE(torch::equal(found.inputs, wanted.inputs)) << found.inputs << wanted.inputs;
  EXPECT_TRUE(torch::equal(found.targets, wanted.targets)) << found.targets << wanted.targets;
}

/// The bytes that a decoder makes of examples.
torch::Tensor decode(const data::TokenSet& set, const std::vector<std::uint64_t>& ids) {
  const auto source = data::make_token_source(std::make_shared<const data::TokenSet>(set));
  const auto bytes = static_cast<std::int64_t>(token_row_bytes(set));
  auto rows = torch::full({static_cast<std::int64_t>(ids.size()), bytes}, 255, torch::kByte);
  for (std::size_t row = 0; row < ids.size(); ++row) {
    std::vector<std::byte> payload(source->payload_bytes(ExampleId{ids[row]}));
    source->read(ExampleId{ids[row]}, payload);
    auto* start = rows[static_cast<std::int64_t>(row)].data_ptr<std::uint8_t>();
    data::make_token_decoder()->decode(payload, {}, {start, static_cast<std::size_t>(bytes)});
  }
  return rows;
}

void expect_batches(const data::TokenSet& set) {
  const std::vector<std::uint64_t> first = {3, 0, 4}, second = {4, 4, 1, 2};
  std::vector<std::uint64_t> all = first;
  all.insert(all.end(), second.begin(), second.end());
  const auto feed = make_token_feed(set, torch::kCPU);
  const auto format = make_token_format(set, torch::kCPU);
  EXPECT_EQ(feed->examples(), set.count());
  store::PhaseSeconds seconds;
  for (int round = 0; round < 2; ++round) {
    feed->begin(plan_of(all, {3, 7}));
    expect_equal(feed->next(seconds), expected(set, first));
    expect_equal(feed->next(seconds), expected(set, second));
    format->begin(plan_of(all, {3, 7}));
    expect_equal(format->make(decode(set, first), 0), expected(set, first));
    expect_equal(format->make(decode(set, second), 3), expected(set, second));
  }
}

TEST(TokenFeed, GivesBlocksAndTheTokensThatFollow) {
  expect_batches(make_corpus(5));
}

TEST(TokenFeed, HasNoTargetsBehindTheEndOfAShortBlock) {
  expect_batches(make_corpus(5, 3));
}

TEST(TokenFeed, FillsTextsUpToTheLongestOfTheBatch) {
  expect_batches(make_texts({2, 6, 1, 3, 4}));
}

TEST(TokenFeed, RefusesPayloadsThatAreNoTokensOfTheSet) {
  std::vector<std::uint8_t> row(8);
  EXPECT_THROW(data::make_token_decoder()->decode(std::vector<std::byte>(10), {}, row), DataError);
  EXPECT_THROW(data::make_token_decoder()->decode(std::vector<std::byte>(3), {}, row), DataError);
}

TEST(Losses, AreMeansOverTheTokensThatHaveATarget) {
  const auto logits = torch::randn({3, 4, 7}, torch::kDouble).to(torch::kFloat);
  auto targets = torch::randint(7, {3, 4}, torch::kInt64);
  targets[1][2] = models::kNoTarget;
  targets[1][3] = models::kNoTarget;
  const auto losses = models::example_losses(logits, targets);
  const auto log_probabilities = torch::log_softmax(logits.to(torch::kDouble), 2);
  for (int row = 0; row < 3; ++row) {
    const int length = row == 1 ? 2 : 4;
    double sum = 0;
    for (int i = 0; i < length; ++i) {
      sum -= log_probabilities[row][i][targets[row][i].item<std::int64_t>()].item<double>();
    }
    EXPECT_NEAR(losses[row].item<double>(), sum / length, 1e-5);
  }
  EXPECT_EQ(models::token_losses(logits, targets)[1][3].item<float>(), 0);
}

}  // namespace
}  // namespace impart::feed
