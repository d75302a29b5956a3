#include "impart/models/layers/attention.h"

#include <algorithm>
#include <set>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "tests/models/tensors.h"

namespace impart::models {
namespace {

using testing::random_tensor;
using testing::relative_distance;

struct Case {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t width;  ///< of a head
  bool causal = true;
  bool biased = false;
};

struct Result {
  torch::Tensor output, gradient;
};

constexpr std::int64_t kExamples = 3;

/// Hides some keys of each example, but never the first.
torch::Tensor make_bias(const Case& sizes) {
  if (!sizes.biased) return {};
  const torch::Tensor hidden = random_tensor({kExamples, sizes.tokens}, 5).gt(0.5);
  hidden.select(1, 0).fill_(false);
  return hidden.to(torch::kFloat) * -1e30;
}

/// By the definition, in double.
Result attend_plainly(const Case& sizes, const torch::Tensor& qkv, const torch::Tensor& weights) {
  const torch::Tensor x = qkv.detach().to(torch::kDouble).requires_grad_(true);
  const std::int64_t all = sizes.heads * sizes.width;
  std::vector<torch::Tensor> heads;
  for (std::int64_t head = 0; head < sizes.heads; ++head) {
    const auto part = [&](std::int64_t which) {
      return x.narrow(2, which * all + head * sizes.width, sizes.width);
    };
    torch::Tensor scores =
        part(0).matmul(part(1).transpose(1, 2)) / std::sqrt(static_cast<double>(sizes.width));
    if (sizes.causal) {
      const auto later = torch::ones({sizes.tokens, sizes.tokens}, torch::kBool).triu(1);
      scores = scores.masked_fill(later, -INFINITY);
    }
    if (sizes.biased) scores = scores + make_bias(sizes).unsqueeze(1);
    heads.push_back(torch::softmax(scores, -1).matmul(part(2)));
  }
  const torch::Tensor output = torch::cat(heads, 2);
  (output * weights).sum().backward();
  return {output.detach(), x.grad()};
}

Result attend_ours(const Case& sizes, const torch::Tensor& qkv, const torch::Tensor& weights) {
  const torch::Tensor x = qkv.detach().clone().requires_grad_(true);
  const torch::Tensor output =
      self_attention(x, {.heads = sizes.heads, .causal = sizes.causal}, make_bias(sizes));
  (output * weights).sum().backward();
  return {output.detach(), x.grad()};
}

TEST(Attention, IsItsDefinition) {
  const Case cases[] = {{1, 2, 16},
                        {3, 1, 32},
                        {16, 2, 16},
                        {64, 3, 32},
                        {65, 2, 64},
                        {130, 2, 32},
                        {200, 1, 48},
                        {37, 2, 20},
                        {67, 2, 32, false},
                        {50, 2, 16, false},
                        {96, 2, 32, true},
                        {70, 2, 32, false, true},
                        {33, 2, 12, false, true}};
  for (const Case& sizes : cases) {
    const std::int64_t all = sizes.heads * sizes.width;
    const torch::Tensor qkv = random_tensor({kExamples, sizes.tokens, 3 * all}, 1, 1.5);
    const torch::Tensor weights = random_tensor({kExamples, sizes.tokens, all}, 2);
    const Result expected = attend_plainly(sizes, qkv, weights);
    const Result ours = attend_ours(sizes, qkv, weights);
    const std::string what = std::to_string(sizes.tokens) + "x" + std::to_string(sizes.width);
    EXPECT_LT(relative_distance(ours.output, expected.output), 2e-6) << what;
    EXPECT_LT(relative_distance(ours.gradient, expected.gradient), 5e-6) << what;
  }
}

TEST(Attention, StaysExactForScoresThatAreFarApart) {
  const Case sizes{.tokens = 48, .heads = 2, .width = 32};
  const torch::Tensor qkv = random_tensor({kExamples, 48, 192}, 1, 12);
  const torch::Tensor weights = random_tensor({kExamples, 48, 64}, 2);
  const Result expected = attend_plainly(sizes, qkv, weights);
  const Result ours = attend_ours(sizes, qkv, weights);
  EXPECT_LT(relative_distance(ours.output, expected.output), 1e-4);
  EXPECT_LT(relative_distance(ours.gradient, expected.gradient), 1e-3);
}

TEST(Attention, HasTheSameBitsForAnyNumberOfThreads) {
  const Case sizes{.tokens = 70, .heads = 3, .width = 32};
  const torch::Tensor qkv = random_tensor({kExamples, 70, 288}, 1);
  const torch::Tensor weights = random_tensor({kExamples, 70, 96}, 2);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Result one = attend_ours(sizes, qkv, weights);
  at::set_num_threads(3);
  const Result three = attend_ours(sizes, qkv, weights);
  at::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(one.output, three.output));
  EXPECT_TRUE(torch::equal(one.gradient, three.gradient));
}

TEST(Attention, PassesNotANumberOn) {
  torch::Tensor qkv = random_tensor({1, 20, 96}, 1);
  qkv[0][5][3] = NAN;  // a query
  const torch::Tensor output = self_attention(qkv, {.heads = 2});
  EXPECT_TRUE(output[0][5].narrow(0, 0, 16).isnan().all().item<bool>());
  EXPECT_FALSE(output[0][4].isnan().any().item<bool>());
}

TEST(Attention, OfABatchThatIsFilledUpIsThatOfTheBatch) {
  for (const bool causal : {true, false}) {
    for (const bool biased : {false, !causal}) {
      const Case sizes{.tokens = 33, .heads = 2, .width = 12, .causal = causal, .biased = biased};
      const torch::Tensor qkv = random_tensor({kExamples, 33, 72}, 1);
      const torch::Tensor weights = random_tensor({kExamples, 33, 24}, 2);
      const Result expected = attend_plainly(sizes, qkv, weights);
      for (const AttentionRoom room :
           {AttentionRoom{kExamples, 33}, {8, 33}, {kExamples, 64}, {4, 64}}) {
        const torch::Tensor x = qkv.detach().clone().requires_grad_(true);
        const torch::Tensor output =
            attend_with_room(x, {.heads = 2, .causal = causal}, make_bias(sizes), room);
        (output * weights).sum().backward();
        EXPECT_LT(relative_distance(output, expected.output), 2e-6);
        EXPECT_LT(relative_distance(x.grad(), expected.gradient), 5e-6);
      }
    }
  }
}

TEST(Attention, HasRoomInFewShapes) {
  std::set<std::int64_t> shapes;
  for (std::int64_t examples = 1; examples <= 64; ++examples) {
    const AttentionRoom room = room_for(examples, 100, false);
    EXPECT_GE(room.examples, examples);
    EXPECT_LE(room.examples, examples + std::max<std::int64_t>(3, examples / 4));
    EXPECT_EQ(room.tokens, 100);
    shapes.insert(room.examples);
  }
  EXPECT_EQ(shapes, (std::set<std::int64_t>{4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64}));
  EXPECT_EQ(room_for(64, 256, true), (AttentionRoom{64, 256}));
  EXPECT_EQ(room_for(90, 257, true), (AttentionRoom{96, 320}));
}

TEST(Attention, RefusesHeadsThatDoNotDivideTheWidth) {
  EXPECT_THROW(self_attention(torch::zeros({1, 4, 96}), {.heads = 5}), ConfigError);
  EXPECT_THROW(self_attention(torch::zeros({1, 4, 96}), {.heads = 0}), ConfigError);
  EXPECT_THROW(self_attention(torch::zeros({4, 96}), {.heads = 2}), ConfigError);
  EXPECT_THROW(self_attention(torch::zeros({1, 4, 96}), {.heads = 2}, torch::zeros({1, 4})),
               ConfigError);
}

}  // namespace
}  // namespace impart::models
