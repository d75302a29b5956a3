#include "impart/placement/hosted_workers.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

TEST(HostedWorkers, CoverAllWorkersInOrderWithNumbersThatDifferByAtMostOne) {
  for (std::uint32_t workers : {1u, 2u, 5u, 7u, 64u, 4'096u}) {
    for (std::uint32_t size = 1; size <= std::min(workers, 9u); ++size) {
      std::uint32_t next = 0;
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        const HostedWorkers hosted = hosted_workers(workers, rank, size);
        EXPECT_EQ(hosted.first, next);
        EXPECT_GE(hosted.count, workers / size);
        EXPECT_LE(hosted.count, (workers + size - 1) / size);
        next += hosted.count;
      }
      EXPECT_EQ(next, workers);
    }
  }
}

TEST(HostedWorkers, KnowTheProcessOfEachWorker) {
  for (std::uint32_t workers : {1u, 3u, 10u, 17u}) {
    for (std::uint32_t size = 1; size <= workers; ++size) {
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        const std::uint32_t rank = hosting_process(WorkerId{worker}, workers, size);
        EXPECT_TRUE(hosted_workers(workers, rank, size).contains(WorkerId{worker}));
      }
    }
  }
}

TEST(HostedWorkers, ContainNobodyElse) {
  const HostedWorkers hosted = hosted_workers(4, 1, 2);
  EXPECT_FALSE(hosted.contains(WorkerId{1}));
  EXPECT_TRUE(hosted.contains(WorkerId{2}));
  EXPECT_TRUE(hosted.contains(WorkerId{3}));
  EXPECT_FALSE(hosted.contains(WorkerId{4}));
}

TEST(HostedWorkers, DoNotOverflowForBillionsOfWorkers) {
  const HostedWorkers hosted = hosted_workers(4'000'000'000u, 999, 1'000);
  EXPECT_EQ(hosted.first, 3'996'000'000u);
  EXPECT_EQ(hosted.count, 4'000'000u);
  EXPECT_EQ(hosting_process(WorkerId{3'999'999'999u}, 4'000'000'000u, 1'000), 999u);
}

TEST(HostedWorkers, RefuseMoreProcessesThanWorkers) {
  EXPECT_THROW(hosted_workers(3, 0, 4), ConfigError);
  EXPECT_THROW(hosted_workers(3, 3, 3), ConfigError);
  EXPECT_THROW(hosting_process(WorkerId{3}, 3, 2), ConfigError);
}

}  // namespace
}  // namespace impart::placement
