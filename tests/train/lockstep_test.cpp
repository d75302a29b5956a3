#include "impart/train/steps/lockstep.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace impart::train {
namespace {

struct Meeting {
  std::unique_ptr<comm::Communicator> communicator = comm::make_single_communicator();
  NormExchange exchange{{.workers = 3, .size = 2}, *communicator};  // 0 1, 2
  Lockstep lockstep{exchange};
};

TEST(Lockstep, GivesEveryPassTheSumsOfAllGroups) {
  Meeting meeting;
  std::vector<std::vector<double>> found(3);
  std::string order;
  std::vector<Lockstep::Pass> passes;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    const auto run = [&, worker] {
      for (double round = 1; round <= 2; ++round) {
        std::vector<double> sums(4);  // two groups of two numbers
        sums[2 * meeting.exchange.place_of(worker)] = round * (worker + 1);
        meeting.lockstep.add_up(sums, 2);
        found[worker].insert(found[worker].end(), sums.begin(), sums.end());
      }
    };
    passes.push_back(
        {.worker = worker, .run = run, .resume = [&, worker] { order += std::to_string(worker); }});
  }
  meeting.lockstep.run(passes);
  for (const auto& sums : found) EXPECT_EQ(sums, (std::vector<double>{3, 0, 3, 0, 6, 0, 6, 0}));
  EXPECT_EQ(order, "012012012");
}

TEST(Lockstep, LeavesOutWorkersWithoutAPass) {
  Meeting meeting;
  std::vector<double> sums = {0, 5};
  const std::vector<Lockstep::Pass> passes = {
      {.worker = 2, .run = [&] { meeting.lockstep.add_up(sums, 1); }, .resume = [] {}}};
  meeting.lockstep.run(passes);
  EXPECT_EQ(sums, (std::vector<double>{0, 5}));
}

TEST(Lockstep, EndsAllPassesIfOneFailsAndSaysWhy) {
  Meeting meeting;
  for (std::uint32_t culprit = 0; culprit < 3; ++culprit) {
    int ended = 0;
    std::vector<Lockstep::Pass> passes;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      const auto run = [&, worker] {
        std::vector<double> sums(2);
        meeting.lockstep.add_up(sums, 1);
        if (worker == culprit) throw std::runtime_error("worker is ill");
        meeting.lockstep.add_up(sums, 1);
        ++ended;
      };
      passes.push_back({.worker = worker, .run = run, .resume = [] {}});
    }
    EXPECT_THROW(meeting.lockstep.run(passes), std::runtime_error);
    EXPECT_EQ(ended, 0);
  }
}

}  // namespace
}  // namespace impart::train
