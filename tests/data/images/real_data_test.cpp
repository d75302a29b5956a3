#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "impart/data/datasets.h"

// Against the published files themselves, where IMPART_DATA names a folder that holds them.

namespace impart::data {
namespace {

void expect_real(const std::string& name, std::uint32_t classes, bool coarse = false) {
  const char* folder = std::getenv("IMPART_DATA");
  if (folder == nullptr) GTEST_SKIP() << "IMPART_DATA names no folder with " << name;
  const std::filesystem::path root = std::filesystem::path(folder) / name;
  if (!std::filesystem::exists(root)) GTEST_SKIP() << root << " does not exist";
  const ImageData data = load_data({.name = name, .root = root.string(), .coarse = coarse});
  EXPECT_EQ(data.train.count, 50000u);
  EXPECT_EQ(data.test.count, 10000u);
  std::vector<std::uint32_t> train(classes, 0), test(classes, 0);
  for (const std::uint32_t label : data.train.labels) ++train[label];
  for (const std::uint32_t label : data.test.labels) ++test[label];
  EXPECT_EQ(train, std::vector<std::uint32_t>(classes, 50000 / classes));
  EXPECT_EQ(test, std::vector<std::uint32_t>(classes, 10000 / classes));
  const ChannelMoments moments = measure_channels(data.train);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(moments.mean[channel], data.train.mean[channel], 1e-4);
  }
}

TEST(RealData, Cifar10IsWhatItShouldBe) {
  expect_real("cifar10", 10);
}

TEST(RealData, Cifar100IsWhatItShouldBe) {
  expect_real("cifar100", 100);
}

TEST(RealData, Cifar100HasEqualCoarseClasses) {
  expect_real("cifar100", 20, true);
}

}  // namespace
}  // namespace impart::data
