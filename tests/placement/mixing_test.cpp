#include "impart/placement/measures/mixing.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/placement/heuristics.h"

namespace impart::placement {
namespace {

Partition random_partition(std::uint64_t examples, std::uint32_t workers, std::uint32_t epoch) {
  return shuffle_evenly(std::vector<float>(examples), {.workers = workers, .epoch = epoch});
}

TEST(Mixing, CountsWhatMovedAndWhatEachWorkerHasHad) {
  const Partition start({WorkerId{0}, WorkerId{0}, WorkerId{1}, WorkerId{1}}, 2);
  const Partition swapped({WorkerId{0}, WorkerId{1}, WorkerId{0}, WorkerId{1}}, 2);
  Mixing mixing(start);
  EXPECT_EQ(mixing.moved(start), 0);
  EXPECT_EQ(mixing.seen(), 0.5);
  mixing.note(swapped);
  EXPECT_EQ(mixing.moved(swapped), 0.5);
  EXPECT_EQ(mixing.seen(), 0.75);
  mixing.note(start);  // back again: nobody has had anything new
  EXPECT_EQ(mixing.moved(start), 0);
  EXPECT_EQ(mixing.seen(), 0.75);
}

TEST(Mixing, OfRandomPartitionsFollowsTheCouponCollector) {
  Mixing mixing(random_partition(8000, 8, 0));
  double unseen = 7.0 / 8;
  for (std::uint32_t epoch = 1; epoch < 10; ++epoch) {
    mixing.note(random_partition(8000, 8, epoch));
    unseen *= 7.0 / 8;
    EXPECT_NEAR(mixing.seen(), 1 - unseen, 0.01);
  }
}

TEST(Mixing, OfManyWorkersIsEstimatedFromSomeExamples) {
  constexpr std::uint64_t kExamples = 100'000;
  constexpr std::uint32_t kWorkers = 4096;
  Mixing mixing(random_partition(kExamples, kWorkers, 0));
  EXPECT_LE(8 * mixing.bits().size(), Mixing::kMostBits + 8);
  mixing.note(random_partition(kExamples, kWorkers, 1));
  EXPECT_NEAR(mixing.seen() * kWorkers, 2 - 1.0 / kWorkers, 0.001);
}

TEST(Mixing, GoesOnFromWhatWasSaved) {
  Mixing mixing(random_partition(101, 7, 0));
  mixing.note(random_partition(101, 7, 1));
  Mixing again(mixing.start(), {mixing.bits().begin(), mixing.bits().end()});
  EXPECT_EQ(again.seen(), mixing.seen());
  const Partition next = random_partition(101, 7, 2);
  mixing.note(next);
  again.note(next);
  EXPECT_EQ(again.seen(), mixing.seen());
  EXPECT_THROW(Mixing(mixing.start(), std::vector<std::uint8_t>(3)), DataError);
}

TEST(Mixing, OfNothingIsZero) {
  const Mixing mixing(Partition({}, 3));
  EXPECT_EQ(mixing.seen(), 0);
  EXPECT_EQ(mixing.moved(Partition({}, 3)), 0);
}

}  // namespace
}  // namespace impart::placement
