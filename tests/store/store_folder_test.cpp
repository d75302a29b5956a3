// What a store left in a folder: found again, mended, or refused.

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/store/one_process.h"
#include "tests/store/store_checks.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::check_settled;
using testing::GeneratedSource;
using testing::message_of;
using testing::OneProcess;
using testing::random_partition;
using testing::TemporaryFolder;

/// A folder with the parts of `workers` workers that some run left.
class StoreFolder : public ::testing::Test {
 protected:
  void leave(std::uint32_t workers, std::uint32_t number) {
    const auto store = one_.open(workers, path_);
    store->settle(random_partition(203, workers, number));
  }
  std::uint64_t bytes_from_source(Store& store) {
    std::uint64_t bytes = 0;
    for (const StorageCost& cost : store.take_costs()) bytes += cost.bytes_source;
    return bytes;
  }

  OneProcess one_;
  TemporaryFolder folder_;
  std::string path_ = folder_ / "store";
};

TEST_F(StoreFolder, IsFoundAgain) {
  leave(4, 0);
  const auto store = one_.open(4, path_);
  store->settle(random_partition(203, 4, 1));
  check_settled(*store, random_partition(203, 4, 1), *one_.source, {0, 4});
  EXPECT_EQ(bytes_from_source(*store), 0u);
}

TEST_F(StoreFolder, ServesAnotherNumberOfWorkers) {
  leave(5, 0);
  {
    const auto store = one_.open(3, path_);
    store->settle(random_partition(203, 3, 1));
    check_settled(*store, random_partition(203, 3, 1), *one_.source, {0, 3});
    EXPECT_FALSE(std::filesystem::exists(path_ + "/worker-0003"));
    EXPECT_FALSE(std::filesystem::exists(path_ + "/worker-0004"));
  }
  const auto store = one_.open(6, path_);
  store->settle(random_partition(203, 6, 2));
  check_settled(*store, random_partition(203, 6, 2), *one_.source, {0, 6});
  EXPECT_EQ(bytes_from_source(*store), 0u);
}

TEST_F(StoreFolder, KeepsExamplesThatTwoWorkersHoldOnce) {
  leave(2, 0);
  std::filesystem::rename(path_ + "/worker-0001", folder_ / "kept");
  leave(2, 1);  // what worker 1 had comes from the source
  std::filesystem::remove_all(path_ + "/worker-0001");
  std::filesystem::rename(folder_ / "kept", path_ + "/worker-0001");
  const auto store = one_.open(2, path_);
  store->settle(random_partition(203, 2, 2));
  check_settled(*store, random_partition(203, 2, 2), *one_.source, {0, 2});
}

TEST_F(StoreFolder, ReplacesDamagedPayloadsFromTheSource) {
  const placement::Partition partition = random_partition(203, 2, 0);
  leave(2, 0);
  {
    const auto store = one_.open(2, path_);
    store->settle(partition);
    std::fstream file(path_ + "/worker-0001/payloads",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5'000);
    file.write("damaged", 7);
    file.close();
    EXPECT_THROW(check_settled(*store, partition, *one_.source, {0, 2}), DataError);
  }
  const auto store = one_.open(2, path_);
  store->settle(partition);
  EXPECT_GT(bytes_from_source(*store), 0u);
  check_settled(*store, partition, *one_.source, {0, 2});
}

TEST_F(StoreFolder, OfAnotherDataSetIsRefused) {
  leave(2, 0);
  one_.source = std::make_shared<GeneratedSource>(204, 300, true);
  EXPECT_NE(message_of<ConfigError>([&] { one_.open(2, path_); }).find("another data set"),
            std::string::npos);
}

/// At every stage of an exchange in turn the disk is full; then settle() must find everything
/// again.
TEST_F(StoreFolder, LosesNothingWhenTheDiskIsFull) {
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  leave(4, 0);
  const std::uint64_t used = std::filesystem::file_size(path_ + "/worker-0000/payloads");
  std::uint32_t failures = 0;
  for (std::uint64_t bytes = 0; bytes < 30'000; bytes += 2'500) {
    one_.moves_behind = bytes % 5'000 == 0;
    {
      const auto store = one_.open(4, path_);
      store->settle(random_partition(203, 4, 0));
      const rlimit limit{used - 10'000 + bytes, before.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const std::string message = message_of<IoError>([&] {
        store->start_moves(
            placement::diff(random_partition(203, 4, 0), random_partition(203, 4, 1)));
        store->finish_moves();
      });
      ::setrlimit(RLIMIT_FSIZE, &before);
      failures += !message.empty();
      if (!message.empty()) {
        EXPECT_NE(message.find(path_ + "/worker-000"), std::string::npos) << message;
        EXPECT_THROW(store->advance_moves(), Error);
      }
    }
    const auto store = one_.open(4, path_);
    store->settle(random_partition(203, 4, 1));
    check_settled(*store, random_partition(203, 4, 1), *one_.source, {0, 4});
    EXPECT_EQ(bytes_from_source(*store), 0u);
  }
  EXPECT_GE(failures, 3u);
  std::signal(SIGXFSZ, handler);
}

struct Interrupted {};

/// The observer throws at its k-th event, for many k.
TEST_F(StoreFolder, HasEveryExampleOnceAfterAnyInterruption) {
  leave(4, 0);
  placement::Partition partition = random_partition(203, 4, 0);
  for (std::uint32_t round = 1; round < 60; ++round) {
    const placement::Partition next = random_partition(203, 4, round);
    one_.moves_behind = round % 3 == 0;
    try {
      std::uint32_t events = 0;
      const auto store = one_.open(4, path_, [&](std::string_view) {
        if (++events == 17 * round) throw Interrupted{};
      });
      store->settle(partition);
      store->start_moves(placement::diff(partition, next));
      store->finish_moves();
    } catch (const Interrupted&) {
      if (round % 2 == 0) continue;  // the old one is still to be the right one
    }
    partition = next;
    const auto store = one_.open(4, path_);
    store->settle(partition);
    check_settled(*store, partition, *one_.source, {0, 4});
    ASSERT_EQ(bytes_from_source(*store), 0u) << "an example was lost";
  }
}

}  // namespace
}  // namespace impart::store
