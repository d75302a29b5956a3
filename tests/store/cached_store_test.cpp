#include "impart/store/cache/cached_store.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/store/generated_source.h"
#include "tests/support/temporary_folder.h"

namespace impart::store {
namespace {

using testing::GeneratedSource;
using testing::random_partition;

constexpr std::uint64_t kCachedExamples = 200, kCachedPayload = 50;
constexpr std::uint32_t kCachedWorkers = 4;

std::unique_ptr<Store> open_cached(const std::shared_ptr<GeneratedSource>& source,
                                   comm::Communicator& communicator, CachedStoreSpec spec) {
  spec.workers = kCachedWorkers;
  spec.data_id = "generated";
  spec.policy = &find_entry(kCachePolicies, "cache policy", "pin");
  return make_cached_store(spec, communicator, source);
}

/// Reads an epoch as training would, and gives its costs.
StorageCost read_epoch(Store& store, const GeneratedSource& source,
                       const placement::Partition& partition) {
  const placement::StepPlan steps(partition.parts(), 7, placement::Uneven::kWeight);
  store.begin_epoch({.steps = &steps, .partition = &partition});
  std::vector<std::byte> payload;
  for (std::uint32_t step = 0; step < steps.steps(); ++step) {
    store.begin_step(step);
    for (std::uint32_t w = 0; w < kCachedWorkers; ++w) {
      for (const ExampleId id : steps.batch_of(WorkerId{w}, step)) {
        store.read(id, WorkerId{w}, payload);
        EXPECT_EQ(payload, source.payload(id));
      }
    }
  }
  store.end_epoch();
  StorageCost sum;
  for (const StorageCost& cost : store.take_costs()) {
    sum.bytes_source += cost.bytes_source;
    sum.bytes_local += cost.bytes_local;
    sum.cache_hits += cost.cache_hits;
    sum.cache_hits_disk += cost.cache_hits_disk;
    sum.cache_misses += cost.cache_misses;
  }
  return sum;
}

TEST(CachedStore, HitsAsOftenAsItHoldsExamples) {
  const auto source = std::make_shared<GeneratedSource>(kCachedExamples, kCachedPayload);
  const auto communicator = comm::make_single_communicator();
  const auto store = open_cached(source, *communicator, {.memory_bytes = 40 * kCachedPayload});
  EXPECT_EQ(
      read_epoch(*store, *source, random_partition(kCachedExamples, kCachedWorkers, 0)).cache_hits,
      0u);
  for (std::uint32_t epoch = 1; epoch < 4; ++epoch) {
    const auto cost =
        read_epoch(*store, *source, random_partition(kCachedExamples, kCachedWorkers, epoch));
    EXPECT_EQ(cost.cache_hits, 40u);
    EXPECT_EQ(cost.cache_misses, kCachedExamples - 40);
    EXPECT_EQ(cost.bytes_source, (kCachedExamples - 40) * kCachedPayload);
  }
}

TEST(CachedStore, TellsWhatToReadAhead) {
  const auto source = std::make_shared<GeneratedSource>(kCachedExamples, kCachedPayload);
  const auto communicator = comm::make_single_communicator();
  const auto store = open_cached(source, *communicator, {.memory_bytes = 40 * kCachedPayload});
  const auto partition = random_partition(kCachedExamples, kCachedWorkers, 0);
  const auto needed = [&](bool again) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < kCachedExamples; ++i) {
      count += store->needs_source(ExampleId{i}, again) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(needed(false), kCachedExamples);
  const placement::StepPlan steps(partition.parts(), 7, placement::Uneven::kWeight);
  store->begin_epoch({.steps = &steps, .partition = &partition});
  EXPECT_EQ(needed(false), kCachedExamples);
  EXPECT_EQ(needed(true), kCachedExamples - 40);  // it knows what it will keep
  store->end_epoch();
  read_epoch(*store, *source, partition);
  EXPECT_EQ(needed(false), kCachedExamples - 40);
}

TEST(CachedStore, FillsItsDiskAfterItsMemoryAndFindsItAgain) {
  const testing::TemporaryFolder folder;
  const auto source = std::make_shared<GeneratedSource>(kCachedExamples, kCachedPayload);
  const auto communicator = comm::make_single_communicator();
  const CachedStoreSpec spec{.memory_bytes = 10 * kCachedPayload,
                             .disk_path = folder.path() + "/cache",
                             .disk_bytes = 30 * kCachedPayload};
  const auto partition = random_partition(kCachedExamples, kCachedWorkers, 0);
  {
    const auto store = open_cached(source, *communicator, spec);
    store->settle(partition);
    read_epoch(*store, *source, partition);
    const auto cost = read_epoch(*store, *source, partition);
    EXPECT_EQ(cost.cache_hits, 10u);
    EXPECT_EQ(cost.cache_hits_disk, 30u);
    EXPECT_EQ(cost.bytes_local, 30 * kCachedPayload);
  }
  const auto store = open_cached(source, *communicator, spec);
  store->settle(partition);
  const auto cost = read_epoch(*store, *source, partition);
  EXPECT_EQ(cost.cache_hits, 0u);
  EXPECT_EQ(cost.cache_hits_disk, 30u);
  EXPECT_EQ(read_epoch(*store, *source, partition).cache_hits, 10u);
}

TEST(CachedStore, NeedsAPolicyThatPlans) {
  const auto source = std::make_shared<GeneratedSource>(kCachedExamples, kCachedPayload);
  const auto communicator = comm::make_single_communicator();
  EXPECT_THROW(make_cached_store({.policy = &kCachePolicies[0]}, *communicator, source),
               ConfigError);
}

}  // namespace
}  // namespace impart::store
