#include "impart/store/replicated_store.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/store/payload_cache.h"
#include "tests/store/generated_source.h"

namespace impart::store {
namespace {

using testing::GeneratedSource;
using testing::random_partition;

std::unique_ptr<Store> open(const std::shared_ptr<GeneratedSource>& source,
                            comm::Communicator& communicator, std::uint64_t cache_bytes) {
  return make_replicated_store({.workers = 3, .cache_bytes = cache_bytes}, communicator, source);
}

TEST(ReplicatedStore, ReadsEverythingForEveryWorker) {
  const auto source = std::make_shared<GeneratedSource>(50, 100, true);
  const auto communicator = comm::make_single_communicator();
  const auto store = open(source, *communicator, 0);
  std::vector<std::byte> payload;
  for (std::uint32_t w = 0; w < 3; ++w) {
    for (std::uint64_t i = 0; i < 50; ++i) {
      store->read(ExampleId{i}, WorkerId{w}, payload);
      EXPECT_EQ(payload, source->payload(ExampleId{i}));
    }
  }
  EXPECT_FALSE(store->holds(ExampleId{50}));
  EXPECT_THROW(store->read(ExampleId{50}, WorkerId{0}, payload), Error);
  EXPECT_THROW(store->read(ExampleId{0}, WorkerId{3}, payload), Error);
}

TEST(ReplicatedStore, CountsBytesHitsAndMissesForTheWorkerThatReads) {
  const auto source = std::make_shared<GeneratedSource>(50, 100);
  const auto communicator = comm::make_single_communicator();
  const auto store = open(source, *communicator, 5'000);
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < 50; ++i) store->read(ExampleId{i}, WorkerId{1}, payload);
  for (std::uint64_t i = 0; i < 50; ++i) store->read(ExampleId{i}, WorkerId{2}, payload);
  const auto costs = store->take_costs();
  EXPECT_EQ(costs[0].cache_hits + costs[0].cache_misses, 0u);
  EXPECT_EQ(costs[1].bytes_source, 5'000u);
  EXPECT_EQ(costs[1].cache_misses, 50u);
  EXPECT_EQ(costs[2].bytes_source, 0u);
  EXPECT_EQ(costs[2].cache_hits, 50u);
  EXPECT_EQ(store->take_costs()[1].bytes_source, 0u) << "costs are since the last call";
}

TEST(ReplicatedStore, MovesNothing) {
  const auto source = std::make_shared<GeneratedSource>(50, 100);
  const auto communicator = comm::make_single_communicator();
  const auto store = open(source, *communicator, 0);
  store->settle(random_partition(50, 3, 0));
  store->start_moves(placement::diff(random_partition(50, 3, 0), random_partition(50, 3, 1)));
  EXPECT_TRUE(store->advance_moves());
  for (const StorageCost& cost : store->take_costs()) {
    EXPECT_EQ(cost.bytes_sent + cost.sends + cost.peak_stored + cost.bytes_source, 0u);
  }
}

TEST(PayloadCache, NeverHoldsMoreThanItsBytes) {
  PayloadCache cache(1'000);
  const GeneratedSource source(200, 60, true);
  std::vector<std::byte> payload;
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    const ExampleId id{i * i % 200};
    if (cache.look_up(id, payload)) {
      ++hits;
      ASSERT_EQ(payload, source.payload(id));
      continue;
    }
    cache.keep(id, source.payload(id));
    ASSERT_LE(cache.bytes(), 1'000u);
  }
  EXPECT_GT(hits, 0u);
}

TEST(PayloadCache, KeepsWhatIsUsedAndEvictsWhatIsNot) {
  PayloadCache cache(1'000);
  const std::vector<std::byte> bytes(100);
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < 100; ++i) {
    cache.keep(ExampleId{i}, bytes);
    EXPECT_TRUE(cache.look_up(ExampleId{0}, payload)) << i;
  }
  EXPECT_FALSE(cache.look_up(ExampleId{50}, payload));
}

TEST(PayloadCache, LeavesWhatIsLargerThanItself) {
  PayloadCache cache(1'000);
  std::vector<std::byte> payload;
  cache.keep(ExampleId{1}, std::vector<std::byte>(600));
  cache.keep(ExampleId{2}, std::vector<std::byte>(1'001));
  EXPECT_TRUE(cache.look_up(ExampleId{1}, payload));
  EXPECT_FALSE(cache.look_up(ExampleId{2}, payload));
}

TEST(PayloadCache, ServesSeveralThreads) {
  PayloadCache cache(std::uint64_t{16} << 20);
  const GeneratedSource source(500, 2'000);
  std::vector<std::jthread> threads;
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::byte> payload;
      for (std::uint64_t i = 0; i < 2'000; ++i) {
        const ExampleId id{(i * 7 + t * 131) % 500};
        if (!cache.look_up(id, payload)) {
          cache.keep(id, source.payload(id));
        } else if (payload != source.payload(id)) {
          ++wrong;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace impart::store
