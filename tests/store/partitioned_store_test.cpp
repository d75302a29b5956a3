#include "impart/store/partitioned_store.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "impart/placement/exchanges.h"
#include "tests/store/one_process.h"
#include "tests/store/store_checks.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::check_costs;
using testing::check_settled;
using testing::GeneratedSource;
using testing::kSmallPieces;
using testing::message_of;
using testing::OneProcess;
using testing::random_partition;
using testing::sizes_of;
using testing::TemporaryFolder;

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
