#include "impart/cost/cluster/max_min.h"

#include <gtest/gtest.h>

namespace impart::cost {
namespace {

Route through(std::initializer_list<std::uint32_t> links) {
  Route route;
  for (const std::uint32_t link : links) route.add(link);
  return route;
}

TEST(MaxMin, SharesALinkEvenly) {
  MaxMinSolver solver({12});
  const Route route = through({0});
  EXPECT_EQ(solver.solve(std::vector{&route, &route, &route}), (std::vector<double>{4, 4, 4}));
}

TEST(MaxMin, GivesWhatOneCannotUseToTheOthers) {
  // The classic: a long flow meets one short one on each of two links, the second of which is slow.
  MaxMinSolver solver({10, 4});
  const Route both = through({0, 1}), first = through({0}), second = through({1});
  EXPECT_EQ(solver.solve(std::vector{&both, &first, &second}), (std::vector<double>{2, 8, 2}));
}

TEST(MaxMin, ForgetsTheFlowsOfTheLastCall) {
  MaxMinSolver solver({10, 4});
  const Route both = through({0, 1}), first = through({0});
  solver.solve(std::vector{&both, &both});
  EXPECT_EQ(solver.solve(std::vector{&first}), (std::vector<double>{10}));
}

}  // namespace
}  // namespace impart::cost
