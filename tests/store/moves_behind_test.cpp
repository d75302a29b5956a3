// Examples that move on a thread of the store while others compute.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "tests/store/one_process.h"
#include "tests/store/store_checks.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::check_settled;
using testing::message_of;
using testing::OneProcess;
using testing::random_partition;
using testing::TemporaryFolder;

/// Workers whose examples move on a thread of the store.
class MovesBehind : public ::testing::Test {
 protected:
  MovesBehind() { one_.moves_behind = true; }
  /// A settled store; `observer` is told of what comes after that.
  std::unique_ptr<Store> settled(const StoreObserver& observer) {
    const auto armed = std::make_shared<std::atomic<bool>>(false);
    auto store = one_.open(4, folder_ / "store", [armed, observer](std::string_view event) {
      if (*armed) observer(event);
    });
    store->settle(before_);
    *armed = true;
    return store;
  }
  bool comes_true(const std::atomic<bool>& what) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!what && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return what;
  }

  OneProcess one_;
  TemporaryFolder folder_;
  placement::Partition before_ = random_partition(203, 4, 0), after_ = random_partition(203, 4, 1);
  placement::MovePlan plan_ = placement::diff(before_, after_);
};

TEST_F(MovesBehind, ComeToTheirEndWhoeverElseComputes) {
  std::atomic<std::uint64_t> gone = 0;
  std::atomic<bool> all_gone = false, elsewhere = true;
  const auto store = settled([&, here = std::this_thread::get_id()](std::string_view event) {
    if (std::this_thread::get_id() == here) elsewhere = false;
    if (event == "forgotten" && ++gone == plan_.moves.size()) all_gone = true;
  });
  EXPECT_EQ(store->take_seconds_moving(), 0);
  store->start_moves(plan_);
  EXPECT_TRUE(comes_true(all_gone)) << "nobody asked the store";
  store->finish_moves();
  EXPECT_TRUE(elsewhere) << "on a thread of the store";
  check_settled(*store, after_, *one_.source, {0, 4});
  EXPECT_GT(store->take_seconds_moving(), 0);
  EXPECT_EQ(store->take_seconds_moving(), 0);
}

TEST_F(MovesBehind, AreNotChargedBeforeTheirEnd) {
  std::promise<void> go_on;
  std::atomic<bool> waits = false;
  const auto store = settled([&](std::string_view) {
    if (!waits.exchange(true)) go_on.get_future().wait();
  });
  store->start_moves(plan_);
  EXPECT_TRUE(comes_true(waits));
  EXPECT_FALSE(store->advance_moves());
  EXPECT_THROW(store->take_costs(), Error);
  EXPECT_THROW(store->start_moves(plan_), Error);
  go_on.set_value();
  store->finish_moves();
  std::uint64_t sent = 0;
  for (const StorageCost& cost : store->take_costs()) sent += cost.examples_sent;
  EXPECT_EQ(sent, plan_.moves.size());
}

TEST_F(MovesBehind, SayWhatEndedThem) {
  std::atomic<bool> failed = false;
  std::uint64_t left = 100;
  const auto store = settled([&](std::string_view) {
    if (--left > 0) return;
    failed = true;
    throw IoError("no space left");
  });
  store->start_moves(plan_);
  EXPECT_TRUE(comes_true(failed));
  EXPECT_EQ(message_of<IoError>([&] {
              while (!store->advance_moves()) std::this_thread::yield();
            }),
            "no space left");
  EXPECT_NE(message_of<Error>([&] { store->advance_moves(); }).find("cannot go on"),
            std::string::npos);
  EXPECT_NE(message_of<Error>([&] { store->finish_moves(); }).find("cannot go on"),
            std::string::npos);
}

TEST_F(MovesBehind, NameADamagedPayload) {
  const auto store = settled([](std::string_view) {});
  const std::string path = folder_ / "store/worker-0002/payloads";
  const std::string damaged(std::filesystem::file_size(path), 'x');
  std::ofstream(path, std::ios::binary) << damaged;
  store->start_moves(plan_);
  const std::string message = message_of<DataError>([&] { store->finish_moves(); });
  EXPECT_TRUE(message.starts_with(path + ": offset ")) << message;
}

TEST_F(MovesBehind, StopWhereTheyAreWithTheirStore) {
  for (std::uint64_t stop_at = 1; stop_at < 400; stop_at += 57) {
    std::atomic<bool> is_there = false;
    std::uint64_t events = 0;
    auto store = settled([&](std::string_view) {
      if (++events < stop_at) return;
      is_there = true;
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // the end comes meanwhile
    });
    store->start_moves(plan_);
    EXPECT_TRUE(comes_true(is_there));
    store.reset();
    one_.moves_behind = stop_at % 2 == 0;
    store = settled([](std::string_view) {});
    check_settled(*store, before_, *one_.source, {0, 4});
    for (const StorageCost& cost : store->take_costs()) EXPECT_EQ(cost.bytes_source, 0u);
    one_.moves_behind = true;
  }
}

}  // namespace
}  // namespace impart::store
