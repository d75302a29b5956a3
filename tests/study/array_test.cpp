#include "impart/study/array.h"

#include <vector>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::study {
namespace {

ArrayTask read_with(std::string_view text, const char* index) {
  return read_array_task(text, [&](const char* name) {
    return std::string_view(name) == "SLURM_ARRAY_TASK_ID" ? index : nullptr;
  });
}

std::vector<std::size_t> runs_of(const ArrayTask& task, std::size_t runs) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < runs; ++i) {
    if (task.has(i)) found.push_back(i);
  }
  return found;
}

TEST(Array, ATaskHasTheRunOfItsIndex) {
  EXPECT_EQ(runs_of(read_with("", "2"), 6), std::vector<std::size_t>({2}));
  EXPECT_EQ(runs_of(read_with("0", nullptr), 6), std::vector<std::size_t>({0}));
}

TEST(Array, TasksThatAreFewerThanRunsDealThem) {
  EXPECT_EQ(runs_of(read_with("1/4", nullptr), 11), std::vector<std::size_t>({1, 5, 9}));
  std::vector<int> times(11, 0);
  for (const char* text : {"0/4", "1/4", "2/4", "3/4"}) {
    for (const std::size_t run : runs_of(read_with(text, "7"), times.size())) ++times[run];
  }
  EXPECT_EQ(times, std::vector<int>(11, 1));
}

TEST(Array, WhatIsNoTaskIsRefused) {
  for (const char* text : {"-1", "x", "4/4", "1/0", "1/", "/4", "1/4/2", "1 "}) {
    EXPECT_THROW(read_with(text, "0"), ConfigError) << text;
  }
  EXPECT_THROW(read_with("", nullptr), ConfigError);
  EXPECT_THROW(read_with("", "undefined"), ConfigError);
}

TEST(Array, AnIndexBeyondTheLastRunIsRefused) {
  check_array_task({.first = 5}, 6);
  EXPECT_THROW(check_array_task({.first = 6}, 6), ConfigError);
}

TEST(Array, IndicesAreWrittenAsRanges) {
  EXPECT_EQ(index_ranges(std::vector<std::size_t>{}), "");
  EXPECT_EQ(index_ranges(std::vector<std::size_t>{4}), "4");
  EXPECT_EQ(index_ranges(std::vector<std::size_t>{0, 1, 2, 3, 5, 7, 8}), "0-3,5,7-8");
}

}  // namespace
}  // namespace impart::study
