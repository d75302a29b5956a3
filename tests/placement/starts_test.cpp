#include "impart/placement/starts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/starts/dirichlet_shares.h"
#include "tests/support/temporary_folder.h"

namespace impart::placement {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::vector<std::uint32_t> owners_of(const Partition& partition) {
  std::vector<std::uint32_t> owners;
  for (const WorkerId owner : partition.owners()) owners.push_back(index(owner));
  return owners;
}

/// Classes 0..classes-1 in turn.
std::vector<std::uint32_t> labels_in_turn(std::size_t examples, std::uint32_t classes) {
  std::vector<std::uint32_t> labels(examples);
  for (std::size_t i = 0; i < examples; ++i) labels[i] = static_cast<std::uint32_t>(i) % classes;
  return labels;
}

TEST(StartInOrder, CutsIdsIntoEqualRuns) {
  EXPECT_EQ(owners_of(start_in_order({.examples = 7, .workers = 3})),
            (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 2}));
}

TEST(StartByClass, CutsIdsSortedByLabelAndId) {
  const std::vector<std::uint32_t> labels = {9, 4, 9, 4, 4, 7, 9};
  // Sorted: 1 3 | 4 5 | 0 2 6.
  EXPECT_EQ(owners_of(start_by_class({.examples = 7, .workers = 3, .labels = labels})),
            (std::vector<std::uint32_t>{2, 0, 2, 0, 1, 1, 2}));
}

TEST(StartByClass, IsInOrderIfThereIsOneClass) {
  const std::vector<std::uint32_t> labels(7, 5);
  EXPECT_EQ(start_by_class({.examples = 7, .workers = 3, .labels = labels}),
            start_in_order({.examples = 7, .workers = 3}));
}

TEST(StartByClass, LeavesWorkersWithoutExamplesIfThereAreTooFew) {
  const std::vector<std::uint32_t> labels = {1, 0};
  EXPECT_EQ(start_by_class({.examples = 2, .workers = 5, .labels = labels}).sizes(),
            (std::vector<std::uint64_t>{0, 0, 1, 0, 1}));
}

TEST(StartAtRandom, IsTheFirstRandomPartition) {
  EXPECT_FALSE(start_at_random({.examples = 50, .workers = 3, .seed = 1}) ==
               start_at_random({.examples = 50, .workers = 3, .seed = 2}));
}

TEST(StartByDirichlet, GivesAClassToOneWorkerIfAlphaIsNearZero) {
  const auto labels = labels_in_turn(600, 6);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Partition start = start_by_dirichlet(
        {.examples = 600, .workers = 4, .seed = seed, .labels = labels, .alpha = kLeastAlpha});
    std::vector<std::uint32_t> owner_of_class(6, 99);
    for (std::uint64_t i = 0; i < 600; ++i) {
      std::uint32_t& owner = owner_of_class[labels[i]];
      if (owner == 99) owner = index(start.owner(ExampleId{i}));
      ASSERT_EQ(owner, index(start.owner(ExampleId{i})));
    }
  }
}

TEST(StartByDirichlet, MixesClassesEvenlyIfAlphaIsLarge) {
  const auto labels = labels_in_turn(20000, 4);
  for (const PartSizes sizes : {PartSizes::kFree, PartSizes::kEven}) {
    const Partition start = start_by_dirichlet({.examples = 20000,
                                                .workers = 4,
                                                .seed = 3,
                                                .labels = labels,
                                                .alpha = kMostAlpha,
                                                .sizes = sizes});
    EXPECT_LT(measure_class_skew(start, labels), 0.05);
  }
}

TEST(StartByDirichlet, HasPartsOfEvenSizesIfAsked) {
  const auto labels = labels_in_turn(1003, 10);
  for (const double alpha : {kLeastAlpha, 0.1, 10.0}) {
    const auto sizes = start_by_dirichlet({.examples = 1003,
                                           .workers = 7,
                                           .labels = labels,
                                           .alpha = alpha,
                                           .sizes = PartSizes::kEven})
                           .sizes();
    const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_EQ(*smallest, 143u);
    EXPECT_EQ(*largest, 144u);
  }
}

TEST(StartByDirichlet, GivesAllToASingleWorker) {
  const auto labels = labels_in_turn(20, 3);
  for (const PartSizes sizes : {PartSizes::kFree, PartSizes::kEven}) {
    const Partition start =
        start_by_dirichlet({.examples = 20, .workers = 1, .labels = labels, .sizes = sizes});
    EXPECT_EQ(start.sizes(), std::vector<std::uint64_t>{20});
  }
}

TEST(StartByDirichlet, SaysWhichAlphaItTakes) {
  const std::vector<std::uint32_t> labels = {0};
  for (const double alpha : {0.0, -1.0, 2e6, std::nan("")}) {
    EXPECT_THROW(start_by_dirichlet({.examples = 1, .labels = labels, .alpha = alpha}),
                 ConfigError);
  }
}

TEST(DirichletShares, HaveTheMeanAndVarianceOfTheDistribution) {
  RandomStream random({.seed = 5, .purpose = Purpose("test")});
  constexpr int kDraws = 20000;
  for (const double alpha : {0.1, 1.0, 10.0}) {
    const std::vector<double> parameters = {alpha, 3 * alpha};
    double sum = 0, squares = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto shares = draw_shares(parameters, random);
      ASSERT_NEAR(shares[0] + shares[1], 1, 1e-12);
      sum += shares[0];
      squares += shares[0] * shares[0];
    }
    const double mean = sum / kDraws;
    const double variance = 0.25 * 0.75 / (4 * alpha + 1);
    EXPECT_NEAR(mean, 0.25, 5 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws - mean * mean, variance, 0.05 * variance);
  }
}

TEST(DirichletShares, LeaveOutWhatHasNoParameter) {
  RandomStream random({.seed = 5, .purpose = Purpose("test")});
  EXPECT_EQ(draw_shares(std::vector{0.0, 1e-6, 0.0}, random), (std::vector{0.0, 1.0, 0.0}));
}

/// What is wrong with an owners.csv of this content for 3 examples and 2 workers, without the
/// folder's name.
std::string complaint(std::string_view content) {
  const TemporaryFolder folder;
  const std::string path = folder.write("owners.csv", content);
  const std::string message = message_of<DataError>([&] { read_start(path, 3, 2); });
  return message.substr(std::min(message.find("owners.csv"), message.size()));
}

TEST(ReadStart, TakesOwnersInAnyOrder) {
  const TemporaryFolder folder;
  const std::string path = folder.write("owners.csv", "id,worker\n2,0\n0,1\n1,1\n");
  EXPECT_EQ(owners_of(read_start(path, 3, 2)), (std::vector<std::uint32_t>{1, 1, 0}));
}

TEST(ReadStart, NamesTheLineThatIsWrong) {
  EXPECT_EQ(complaint("id,worker\n0,0\n2,1\n0,1\n"),
            "owners.csv:4: id 0 is a duplicate; it was on line 2 already");
  EXPECT_EQ(complaint("id,worker\n0,0\n3,1\n2,1\n"),
            "owners.csv:3: id 3 with only 3 rows: ids must be 0..2, and id 1 is missing");
  EXPECT_EQ(complaint("id,worker\n1,0\n0,1\n"),
            "owners.csv:2: ids end here, but 3 examples are trained on: id 2 is missing");
  EXPECT_EQ(complaint("id,worker\n3,0\n2,0\n1,0\n0,1\n"),
            "owners.csv:2: id 3, but only 3 examples are trained on");
  EXPECT_EQ(complaint("id,worker\n1,0\n0,2\n2,1\n"),
            "owners.csv:3: example 0 belongs to worker 2, but there are only 2 workers");
  EXPECT_EQ(complaint("id,worker\n"),
            "owners.csv: ids end here, but 3 examples are trained on: id 0 is missing");
}

}  // namespace
}  // namespace impart::placement
