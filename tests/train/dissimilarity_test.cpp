#include "impart/train/passes/dissimilarity.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/comm/communicator.h"
#include "impart/feed/tensor_feed.h"
#include "impart/models/layers/layers.h"
#include "tests/models/tensors.h"

namespace impart::train {
namespace {

using impart::testing::random_tensor;

constexpr std::int64_t kExamplesHere = 24, kWidth = 5, kLogitCount = 3;

class LinearModel : public models::Classifier {
 public:
  LinearModel() {
    fc_ = register_module("fc", models::Linear(kWidth, kLogitCount));
    const torch::NoGradGuard no_grad;
    fc_->weight.copy_(random_tensor({kLogitCount, kWidth}, 3));
  }
  Output forward(torch::Tensor inputs) override { return {fc_(inputs), inputs}; }

 private:
  models::Linear fc_{nullptr};
};

struct Setting {
  torch::Tensor inputs = random_tensor({kExamplesHere, kWidth}, 1);
  torch::Tensor targets = torch::arange(kExamplesHere).remainder(kLogitCount);
  std::unique_ptr<feed::Feed> feed =
      feed::make_tensor_feed({.inputs = inputs, .targets = targets}, torch::kCPU);
  LinearModel model;
  std::unique_ptr<comm::Communicator> communicator = comm::make_single_communicator();

  std::optional<double> measure(const std::vector<std::vector<ExampleId>>& lists) {
    return measure_dissimilarity(model, *feed, placement::parts_of(lists), *communicator);
  }
  /// By the rule of softmax: (p - y) xᵀ and p - y, mean over the rows.
  torch::Tensor gradient(const std::vector<ExampleId>& list) {
    std::vector<std::int64_t> rows;
    for (const ExampleId id : list) rows.push_back(static_cast<std::int64_t>(index(id)));
    const auto ids = torch::tensor(rows);
    const auto x = inputs.index_select(0, ids).to(torch::kDouble);
    const auto parameters = model.named_parameters();
    const auto logits = torch::matmul(x, parameters["fc.weight"].detach().t().to(torch::kDouble));
    const auto error = torch::softmax(logits, 1) -
                       torch::one_hot(targets.index_select(0, ids), kLogitCount).to(torch::kDouble);
    return torch::cat({torch::matmul(error.t(), x).flatten(), error.sum(0)}) /
           static_cast<double>(list.size());
  }
};

std::vector<ExampleId> ids_from(std::uint64_t first, std::uint64_t end, std::uint64_t stride = 1) {
  std::vector<ExampleId> ids;
  for (std::uint64_t id = first; id < end; id += stride) ids.push_back(ExampleId{id});
  return ids;
}

TEST(Dissimilarity, IsThePlainFormulaForALinearModel) {
  Setting setting;
  const std::vector<std::vector<ExampleId>> lists = {
      ids_from(0, 9), ids_from(9, 14), {}, ids_from(14, 24)};
  std::vector<torch::Tensor> gradients;
  for (const auto& list : lists) {
    if (!list.empty()) gradients.push_back(setting.gradient(list));
  }
  const auto mean = torch::stack(gradients).mean(0);
  double expected = 0;
  for (const torch::Tensor& gradient : gradients) {
    expected += ((gradient - mean).square().sum() / mean.square().sum()).item<double>() / 3;
  }
  EXPECT_NEAR(setting.measure(lists).value() / expected, 1, 1e-5);
  EXPECT_TRUE(setting.model.is_training());
  EXPECT_FALSE(setting.model.parameters().front().grad().defined());
}

TEST(Dissimilarity, IsNoneOfEqualListsAndMoreOfListsByClass) {
  Setting setting;
  const auto all = ids_from(0, kExamplesHere);
  EXPECT_NEAR(setting.measure({all, all, all}).value(), 0, 1e-12);
  const double mixed = setting.measure({ids_from(0, 12), ids_from(12, 24)}).value();
  const double by_class =
      setting.measure({ids_from(0, 24, 3), ids_from(1, 24, 3), ids_from(2, 24, 3)}).value();
  EXPECT_GT(by_class, 2 * mixed);
}

TEST(Dissimilarity, SamplesEachPartWithoutRepetition) {
  std::vector<WorkerId> owners(1000, WorkerId{0});
  for (std::size_t i = 0; i < 30; ++i) owners[i] = WorkerId{2};
  const placement::Partition partition(owners, 3);
  const auto samples = draw_samples(partition, 1, 4), again = draw_samples(partition, 1, 4);
  const auto first = samples.of(WorkerId{0});
  EXPECT_EQ(first.size(), kGradientSample);
  EXPECT_EQ(std::set<ExampleId>(first.begin(), first.end()).size(), kGradientSample);
  EXPECT_TRUE(std::ranges::all_of(first, [](ExampleId id) { return index(id) >= 30; }));
  EXPECT_EQ(samples.of(WorkerId{1}).size(), 0U);
  EXPECT_EQ(samples.of(WorkerId{2}).size(), 30U);
  EXPECT_TRUE(std::ranges::equal(first, again.of(WorkerId{0})));
  EXPECT_FALSE(std::ranges::equal(first, draw_samples(partition, 1, 5).of(WorkerId{0})));
}

}  // namespace
}  // namespace impart::train
