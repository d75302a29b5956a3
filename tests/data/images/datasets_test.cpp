#include "impart/data/images/datasets.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;

TEST(Datasets, SuggestTheNearestName) {
  EXPECT_EQ(message_of<ConfigError>([] { load_data({.name = "cifar01"}); }),
            "unknown data set 'cifar01', did you mean 'cifar10'?");
}

TEST(Datasets, ThatReadFilesSayWhichOneTheyMissAndWhatToDo) {
  const testing::TemporaryFolder folder;
  for (const DatasetEntry& entry : kDatasets) {
    if (!entry.reads_files) continue;
    const std::string message = message_of<DataError>(
        [&] { entry.open({.name = std::string(entry.name), .root = folder / "nowhere"}); });
    EXPECT_EQ(message.find(folder / "nowhere/"), 0u) << entry.name << ": " << message;
    EXPECT_NE(message.find("data.root"), std::string::npos) << entry.name << ": " << message;
  }
}

TEST(ChannelMoments, AreThoseOfThePixels) {
  const ImageSet set{.count = 2,
                     .channels = 2,
                     .height = 1,
                     .width = 2,
                     .classes = 1,
                     .pixels = {0, 255, 51, 51, 255, 0, 51, 51},
                     .labels = {0, 0}};
  const ChannelMoments moments = measure_channels(set);
  EXPECT_EQ(moments.mean, (std::vector{0.5f, 0.2f}));
  EXPECT_EQ(moments.std, (std::vector{0.5f, 1.0f}));
}

}  // namespace
}  // namespace impart::data
