// Images that come to the GPU in turn: what is made of them is what is made of images that are all
// there.

#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/data/payloads/memory_payloads.h"
#include "impart/feed/stored_feed.h"
#include "impart/store/replicated_store.h"
#include "tests/cuda/gpu_test.h"
#include "tests/cuda/training.h"

namespace impart {
namespace {

using testing::config_of;
using testing::kEpochs;
using testing::Training;

class ImageTurnsTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    at::globalContext().setDeterministicCuDNN(true);
  }

  /// The images of Training, out of a store.
  std::unique_ptr<feed::Feed> make_feed(torch::Device device) {
    const auto set = std::make_shared<const data::ExampleSet>(set_);
    return feed::make_stored_feed(
        {.payloads = set_.payloads,
         .decoder = set_.decoder,
         .row_bytes = set_.image_bytes(),
         .format = feed::make_image_format(set, testing::augmentation(300), device),
         .store = store_.get(),
         .device = device,
         .threads = 2,
         .batches_ahead = 2});
  }

 private:
  data::ExampleSet set_ = data::view_in_memory(testing::data().train, "memory");
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<store::Store> store_ =
      store::make_replicated_store({.workers = 4}, *communicator_, set_.payloads);
};

feed::FeedPlan plan_of(std::uint32_t epoch, std::vector<std::int64_t> ends) {
  feed::FeedPlan plan{.epoch = epoch, .ends = std::move(ends)};
  for (std::int64_t row = 0; row < plan.ends.back(); ++row) {
    plan.ids.push_back(ExampleId{static_cast<std::uint64_t>(row * 7 % 300)});
    plan.workers.push_back(WorkerId{0});
  }
  return plan;
}

TEST_F(ImageTurnsTest, MakeTheBatchesOfTheCpu) {
  const auto here = make_feed(torch::kCPU), there = make_feed(torch::kCUDA);
  EXPECT_FALSE(here->on_device());
  ASSERT_TRUE(there->on_device() && there->on_device()->in_turn);
  const std::vector<std::vector<std::int64_t>> plans = {
      {20, 40, 41, 70, 90}, {5, 10, 15}, {100, 200, 300}, {64, 128, 192, 256, 300}};
  for (std::uint32_t epoch = 0; epoch < plans.size(); ++epoch) {
    feed::FeedPlan plan = plan_of(epoch, plans[epoch]);
    plan.augment = epoch != 1;
    here->begin(plan);
    there->begin(plan);
    // Plans are dropped before their last batch, while it is decoded and copied.
    for (std::size_t batch = 0; batch + 1 < plan.ends.size(); ++batch) {
      store::PhaseSeconds ignored;
      const feed::Batch expected = here->next(ignored), found = there->next(ignored);
      EXPECT_TRUE(torch::equal(found.inputs.cpu().contiguous(), expected.inputs.contiguous()));
      EXPECT_TRUE(torch::equal(found.targets.cpu(), expected.targets));
    }
  }
}

TEST_F(ImageTurnsTest, KeepABatchUntilTheNextHoweverFarTheHostIsAhead) {
  const auto here = make_feed(torch::kCPU), there = make_feed(torch::kCUDA);
  std::vector<std::int64_t> ends;
  for (std::int64_t end = 50; end <= 1000; end += 50) ends.push_back(end);
  const feed::FeedPlan plan = plan_of(0, ends);
  here->begin(plan);
  there->begin(plan);
  const auto busy = torch::ones({4096, 4096}, torch::kCUDA);
  std::vector<torch::Tensor> expected, found;
  for (std::size_t batch = 0; batch < plan.ends.size(); ++batch) {
    store::PhaseSeconds ignored;
    expected.push_back(here->next(ignored).inputs.sum(torch::kDouble));
    there->bring(ignored);
    const feed::DevicePlan placed = *there->on_device();
    torch::Tensor slow = busy;
    for (int i = 0; i < 4; ++i) slow = slow.mm(busy);  // what comes next is read late
    const auto ids = placed.ids.narrow(0, static_cast<std::int64_t>(batch) * 50, 50);
    found.push_back(feed::make_batch(*placed.images, ids, placed.choices).sum(torch::kDouble));
  }
  for (std::size_t batch = 0; batch < found.size(); ++batch) {
    EXPECT_NEAR(found[batch].item<double>(), expected[batch].item<double>(), 1e-3) << batch;
  }
}

TEST_F(ImageTurnsTest, StepsAreThoseOfImagesThatAreAllThere) {
  for (const auto precision :
       {config::RunConfig::Precision::kFp32, config::RunConfig::Precision::kBf16}) {
    auto config = config_of("resnet18");
    config.precision = precision;
    Training all(config, torch::kCUDA);
    Training in_turn(config, torch::kCUDA, make_feed(torch::kCUDA));
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      const auto expected = all.train(epoch), signals = in_turn.train(epoch);
      EXPECT_TRUE(torch::equal(signals, expected)) << epoch;
    }
    EXPECT_TRUE(torch::equal(all.parameters(), in_turn.parameters()));
  }
}

TEST_F(ImageTurnsTest, StepsGoOnAfterPassesOfLargerBatches) {
  const auto config = config_of("small-cnn");
  Training all(config, torch::kCUDA);
  Training in_turn(config, torch::kCUDA, make_feed(torch::kCUDA));
  const std::vector<float> nothing(300);
  const placement::Partition partition = placement::shuffle_evenly(nothing, {.workers = 4});
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    all.train(epoch);
    in_turn.train(epoch);
    // Batches of 512 move the places: what was recorded must not be replayed.
    const auto expected = all.engine.inference_losses(partition);
    const auto found = in_turn.engine.inference_losses(partition);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-3);
  }
  EXPECT_TRUE(torch::equal(all.parameters(), in_turn.parameters()));
}

}  // namespace
}  // namespace impart
