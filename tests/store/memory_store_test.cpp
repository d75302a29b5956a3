#include "impart/store/memory_store.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/store/stores.h"
#include "tests/store/generated_source.h"

namespace impart::store {
namespace {

TEST(MemoryStore, HoldsEverythingAndMovesNothing) {
  const auto communicator = comm::make_single_communicator();
  const auto store = make_memory_store({.workers = 3, .examples = 50}, *communicator);
  store->settle(testing::random_partition(50, 3, 1));
  store->start_moves({});
  EXPECT_TRUE(store->advance_moves());
  EXPECT_TRUE(store->holds(ExampleId{49}));
  EXPECT_FALSE(store->holds(ExampleId{50}));
  std::vector<std::byte> payload;
  EXPECT_THROW(store->read(ExampleId{0}, WorkerId{0}, payload), Error);
}

TEST(MemoryStore, CostsWhatWasLoadedOnce) {
  const auto communicator = comm::make_single_communicator();
  const auto store =
      make_memory_store({.workers = 3, .examples = 50, .loaded_bytes = 700}, *communicator);
  const auto costs = store->take_costs();
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].bytes_source, 700u);
  EXPECT_EQ(costs[1].bytes_source, 0u);
  EXPECT_EQ(store->take_costs()[0].bytes_source, 0u);
}

/// What every kind of store does for a run.
TEST(Stores, GiveEveryWorkerItsPart) {
  for (const StoreEntry& row : kStores) {
    SCOPED_TRACE(row.name);
    const auto source = std::make_shared<testing::GeneratedSource>(40, 100, true);
    const auto communicator = comm::make_single_communicator();
    const auto store = row.function({.workers = 3}, *communicator, source);
    const placement::Partition partition = testing::random_partition(40, 3, 1);
    store->settle(partition);
    std::vector<std::byte> payload;
    for (std::uint64_t i = 0; i < 40; ++i) {
      ASSERT_TRUE(store->holds(ExampleId{i}));
      store->read(ExampleId{i}, partition.owner(ExampleId{i}), payload);
      EXPECT_EQ(payload, source->payload(ExampleId{i}));
    }
    EXPECT_EQ(store->take_costs().size(), 3u);
  }
}

}  // namespace
}  // namespace impart::store
