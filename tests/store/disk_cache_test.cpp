#include "impart/store/cache/disk_cache.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/store/cache/cache_folder.h"
#include "tests/store/generated_source.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::GeneratedSource;

class DiskCaches : public ::testing::Test {
 protected:
  DiskCache open(std::uint64_t bytes = 1'000'000, std::string data_id = "data") {
    return DiskCache({.path = path_, .data_id = std::move(data_id), .bytes = bytes}, source_);
  }
  void fill(DiskCache& cache, std::uint64_t count, bool evict = false) {
    for (std::uint64_t i = 0; i < count; ++i) {
      cache.keep(ExampleId{i}, source_.payload(ExampleId{i}), evict);
    }
  }
  std::uint64_t count_right(DiskCache& cache) {
    std::vector<std::byte> payload;
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < source_.examples(); ++i) {
      if (!cache.look_up(ExampleId{i}, payload)) continue;
      EXPECT_EQ(payload, source_.payload(ExampleId{i}));
      ++right;
    }
    return right;
  }
  void damage(std::uint64_t offset) {
    std::fstream file(path_ + "/process-0000/payloads",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('\x5a').put('\x5a').put('\x5a');
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/cache";
  GeneratedSource source_{50, 100};
};

TEST_F(DiskCaches, HoldsTheSameWhenItIsOpenedAgain) {
  {
    DiskCache cache = open();
    fill(cache, 30);
  }
  DiskCache again = open();
  EXPECT_EQ(again.held().size(), 30u);
  EXPECT_EQ(count_right(again), 30u);
}

TEST_F(DiskCaches, DropsWhatDoesNotHaveItsHash) {
  {
    DiskCache cache = open();
    fill(cache, 30);
  }
  damage(250);
  const auto found = look_at_cache(path_, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].damaged, 1u);
  EXPECT_EQ(found[0].payloads, 30u);
  DiskCache again = open();
  EXPECT_EQ(count_right(again), 29u);
  EXPECT_EQ(again.held().size(), 29u);
}

TEST_F(DiskCaches, NeverHoldsMoreThanItsBytes) {
  DiskCache cache = open(1'050);
  fill(cache, 50);
  EXPECT_EQ(cache.held().size(), 10u) << "without eviction what came first stays";
  EXPECT_TRUE(cache.contains(ExampleId{0}));
  fill(cache, 50, true);
  EXPECT_EQ(cache.held().size(), 10u);
  EXPECT_TRUE(cache.contains(ExampleId{49}));
}

TEST_F(DiskCaches, AreOneForEachProcess) {
  DiskCache first = open();
  fill(first, 5);
  DiskCache second = open();
  EXPECT_NE(first.folder(), second.folder());
  EXPECT_TRUE(second.held().empty());
  EXPECT_TRUE(look_at_cache(path_, false)[0].in_use);
  EXPECT_THROW(clear_cache(path_), ConfigError);
}

TEST_F(DiskCaches, BelongToOneDataSet) {
  open();
  EXPECT_THROW(open(1'000, "other data"), ConfigError);
  EXPECT_EQ(look_at_cache(path_, false)[0].data_id, "data");
  EXPECT_EQ(clear_cache(path_), 1u);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_THROW(look_at_cache(path_, false), DataError);
  open(1'000, "other data");
}

}  // namespace
}  // namespace impart::store
