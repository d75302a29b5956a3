#include "impart/train/fitting_rows.h"

#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::train {
namespace {

struct Search {
  std::vector<std::int64_t> tried;

  FoundRows run(std::int64_t wanted, std::int64_t smallest, std::int64_t room) {
    return find_fitting_rows({.wanted = wanted, .smallest = smallest, .fits = [&](auto rows) {
                                tried.push_back(rows);
                                return rows <= room;
                              }});
  }
};

TEST(FittingRows, TakesWhatIsWantedIfItFits) {
  Search search;
  const FoundRows found = search.run(4096, 128, 5000);
  EXPECT_EQ(found.rows, 4096);
  EXPECT_EQ(found.reason, "");
  EXPECT_EQ(search.tried, std::vector<std::int64_t>{4096});
}

TEST(FittingRows, HalvesUntilItFitsAndSaysSo) {
  Search search;
  const FoundRows found = search.run(1001, 1, 300);
  EXPECT_EQ(found.rows, 251);
  EXPECT_EQ(search.tried, (std::vector<std::int64_t>{1001, 501, 251}));
  EXPECT_NE(found.reason.find("a pass over 1001 examples"), std::string::npos) << found.reason;
  EXPECT_NE(found.reason.find("workers.micro_batch=251"), std::string::npos) << found.reason;
}

TEST(FittingRows, DoesNotPartTheExamplesOfAWorker) {
  Search search;
  EXPECT_EQ(search.run(1024, 400, 450).rows, 400);
  EXPECT_EQ(search.tried, (std::vector<std::int64_t>{1024, 512, 400}));
}

TEST(FittingRows, GivesUpWhereNothingFits) {
  Search search;
  EXPECT_THROW(search.run(1024, 256, 100), ConfigError);
  EXPECT_EQ(search.tried, (std::vector<std::int64_t>{1024, 512, 256}));
}

TEST(FittingRows, LetsOtherFailuresPass) {
  EXPECT_THROW(
      find_fitting_rows(
          {.wanted = 2, .smallest = 1, .fits = [](auto) -> bool { throw DataError("no"); }}),
      DataError);
}

}  // namespace
}  // namespace impart::train
