#include "impart/store/partitioned_store.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "impart/placement/exchanges.h"
#include "tests/store/store_checks.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::check_costs;
using testing::check_settled;
using testing::GeneratedSource;
using testing::message_of;
using testing::random_partition;
using testing::sizes_of;
using testing::TemporaryFolder;

constexpr FlowSpec kSmallPieces{.piece_bytes = 777, .batch_examples = 7, .sync_bytes = 4'000};

/// A store of one process, where its workers are all hosted together.
struct OneProcess {
  std::unique_ptr<Store> open(std::uint32_t workers, const std::string& path,
                              const StoreObserver& observer = {}) {
    return make_partitioned_store({.workers = workers,
                                   .path = path,
                                   .data_id = "generated",
                                   .flow = kSmallPieces,
                                   .moves_behind = moves_behind,
                                   .observer = observer},
                                  *communicator, source);
  }
  bool moves_behind = false;
  std::unique_ptr<comm::Communicator> communicator = comm::make_single_communicator();
  std::shared_ptr<GeneratedSource> source = std::make_shared<GeneratedSource>(203, 300, true);
};

class EveryKind : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool, bool>> {
 protected:
  EveryKind() { one_.moves_behind = std::get<2>(GetParam()); }
  std::uint32_t workers() const { return std::get<0>(GetParam()); }
  bool in_folder() const { return std::get<1>(GetParam()); }
  std::string path() const { return in_folder() ? folder_ / "store" : ""; }
  placement::HostedWorkers all() const { return {0, workers()}; }
  placement::Partition partition(std::uint32_t number) const {
    return random_partition(one_.source->examples(), workers(), number);
  }

  OneProcess one_;
  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(PartitionedStore, EveryKind,
                         ::testing::Combine(::testing::Values(1u, 4u, 5u), ::testing::Bool(),
                                            ::testing::Bool()));

TEST_P(EveryKind, TakesAllFromTheSourceFirst) {
  const auto store = one_.open(workers(), path());
  store->settle(partition(0));
  check_settled(*store, partition(0), *one_.source, all());
  std::uint64_t bytes = 0, expected = 0;
  for (const StorageCost& cost : store->take_costs()) bytes += cost.bytes_source;
  for (std::uint64_t i = 0; i < one_.source->examples(); ++i) {
    expected += one_.source->payload_bytes(ExampleId{i});
  }
  EXPECT_EQ(bytes, expected);
}

TEST_P(EveryKind, FollowsAnyPartitionAtThePredictedCost) {
  const auto store = one_.open(workers(), path());
  store->settle(partition(0));
  store->take_costs();
  for (std::uint32_t number = 1; number < 4; ++number) {
    const placement::MovePlan plan = placement::diff(partition(number - 1), partition(number));
    store->start_moves(plan);
    store->finish_moves();
    const auto costs = store->take_costs();
    const auto predicted =
        predict_move_costs(plan, sizes_of(*one_.source),
                           {.workers = workers(), .flow = kSmallPieces, .directory = in_folder()});
    check_costs(costs, all(), predicted, partition(number - 1).sizes());
    std::uint64_t flows = 0;
    for (const StorageCost& cost : costs) flows += cost.flows_sent;
    EXPECT_EQ(flows, plan.messages());
    check_settled(*store, partition(number), *one_.source, all());
    store->take_costs();
  }
}

TEST_P(EveryKind, SettlesFromAnotherPartitionWithoutTheSource) {
  const auto store = one_.open(workers(), path());
  store->settle(partition(0));
  store->take_costs();
  store->settle(partition(1));
  check_settled(*store, partition(1), *one_.source, all());
  for (const StorageCost& cost : store->take_costs()) EXPECT_EQ(cost.bytes_source, 0u);
}

TEST_P(EveryKind, KeptExamplesCanBeReadWhileOthersMove) {
  const auto store = one_.open(workers(), path());
  store->settle(partition(0));
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> wrong = 0, reads = 0;
  // Every example is always held by some worker of this process.
  std::jthread reader([&] {
    std::vector<std::byte> payload;
    for (std::uint64_t i = 0; !stop; i = (i + 1) % one_.source->examples()) {
      const ExampleId id{i};
      store->read(id, WorkerId{0}, payload);
      wrong += payload != one_.source->payload(id) || !store->holds(id);
      ++reads;
    }
  });
  for (std::uint32_t number = 1; number < 5 || reads < 500; ++number) {
    store->start_moves(placement::diff(partition(number - 1), partition(number)));
    store->finish_moves();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_P(EveryKind, RefusesWhatCannotBe) {
  const auto store = one_.open(workers(), path());
  EXPECT_THROW(store->settle(random_partition(202, workers(), 0)), ConfigError);
  EXPECT_THROW(store->settle(random_partition(203, workers() + 1, 0)), ConfigError);
  std::vector<std::byte> payload;
  EXPECT_THROW(store->read(ExampleId{0}, WorkerId{0}, payload), Error);
  store->settle(partition(0));
  EXPECT_THROW(store->read(ExampleId{0}, WorkerId{workers()}, payload), Error);
  EXPECT_THROW(store->read(ExampleId{203}, WorkerId{0}, payload), Error);
  if (workers() == 1) return;
  store->start_moves(placement::diff(partition(0), partition(1)));
  EXPECT_THROW(store->start_moves(placement::diff(partition(0), partition(1))), Error);
  store->finish_moves();
  const placement::MovePlan stale = placement::diff(partition(0), partition(1));
  store->start_moves(stale);
  EXPECT_THROW(store->finish_moves(), Error) << "the examples are elsewhere";
}

TEST(PartitionedStore, PairStrategiesHaveOneFlowPerWorkerAndDirection) {
  OneProcess one;
  const auto store = one.open(4, "");
  const placement::Partition before = random_partition(203, 4, 0);
  store->settle(before);
  store->take_costs();
  std::vector<float> importance(203);
  for (std::size_t i = 0; i < importance.size(); ++i) importance[i] = static_cast<float>(i % 17);
  placement::Partition current = before;
  for (placement::Exchange* exchange :
       {placement::exchange_in_pairs, placement::exchange_to_balance}) {
    const placement::Partition after = exchange(current, importance, {.fraction = 0.3, .seed = 1});
    store->start_moves(placement::diff(current, after));
    store->finish_moves();
    current = after;
    for (const StorageCost& cost : store->take_costs()) {
      EXPECT_EQ(cost.flows_sent, 1u);
      EXPECT_EQ(cost.flows_received, 1u);
    }
  }
}

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

TEST(PartitionedStore, RefusesASpecThatCannotBe) {
  OneProcess one;
  for (const PartitionedStoreSpec& spec : {PartitionedStoreSpec{.workers = 0},
                                           {.flow = {.piece_bytes = 0}},
                                           {.flow = {.piece_bytes = std::uint64_t{1} << 31}},
                                           {.flow = {.batch_examples = 0}},
                                           {.window = 0}}) {
    EXPECT_THROW(make_partitioned_store(spec, *one.communicator, one.source), ConfigError);
  }
}

TEST(PartitionedStore, RefusesAPathThatIsNoFolder) {
  OneProcess one;
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x");
  EXPECT_NE(message_of<IoError>([&] { one.open(1, file); }).find(file), std::string::npos);
}

TEST(PartitionedStore, HoldsNoExamplesOfAnEmptyDataSet) {
  OneProcess one;
  one.source = std::make_shared<GeneratedSource>(0, 10);
  const auto store = one.open(3, "");
  store->settle(random_partition(0, 3, 0));
  store->start_moves({});
  EXPECT_TRUE(store->advance_moves());
}

}  // namespace
}  // namespace impart::store
