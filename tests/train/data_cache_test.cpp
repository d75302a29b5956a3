#include "impart/train/data_cache.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/feed/device_copies.h"
#include "tests/train/own_run_fixture.h"

namespace impart::train {
namespace {

class DataCacheTest : public ::testing::Test {
 protected:
  /// Where the images of a set with so many examples are in memory.
  const data::ImageData* load(std::uint32_t examples) {
    config_.data.train_examples = examples;
    return cache_.load(config_).dataset.images.get();
  }

  testing::TemporaryFolder folder_;
  config::RunConfig config_ = testing::tiny_config(folder_);
  DataCache cache_{2};
};

TEST_F(DataCacheTest, ReadsASetOnce) {
  const auto* first = load(30);
  ASSERT_NE(first, nullptr);
  config_.seed = 99;
  config_.model.name = "small-cnn";
  EXPECT_EQ(load(30), first);
  EXPECT_NE(load(40), first);
}

TEST_F(DataCacheTest, ForgetsWhatWasUsedLongestAgo) {
  config_.data.train_examples = 30;
  const feed::LoadedData kept = cache_.load(config_);  // so that its place is not given to another
  load(40);
  EXPECT_EQ(load(30), kept.dataset.images.get());
  load(50);  // instead of 40
  EXPECT_EQ(load(30), kept.dataset.images.get());
  load(60);
  load(70);
  EXPECT_NE(load(30), kept.dataset.images.get());
}

TEST_F(DataCacheTest, RunsShareWhatIsOnTheDevice) {
  const feed::LoadedData a = cache_.load(config_), b = cache_.load(config_);
  const auto pixels = [](const feed::LoadedData& data, feed::Part part) {
    const auto& both = *data.dataset.images;
    const auto& images = part == feed::Part::kTrain ? both.train : both.test;
    return data.copies->get(part, images, torch::kCPU).pixels;
  };
  EXPECT_TRUE(pixels(a, feed::Part::kTrain).is_same(pixels(b, feed::Part::kTrain)));
  EXPECT_FALSE(pixels(a, feed::Part::kTrain).is_same(pixels(a, feed::Part::kTest)));
}

TEST_F(DataCacheTest, KeepsNothingOfDataThatCannotBeRead) {
  config_.data.name = "cifar10";
  config_.data.root = "/nowhere";
  EXPECT_THROW(cache_.load(config_), Error);
  EXPECT_THROW(cache_.load(config_), Error);
}

}  // namespace
}  // namespace impart::train
