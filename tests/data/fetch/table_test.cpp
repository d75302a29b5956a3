#include "impart/data/fetch/table.h"

#include <set>

#include <gtest/gtest.h>

#include "impart/data/datasets.h"

namespace impart::data {
namespace {

bool is_sum(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

TEST(FetchTable, EveryRowHasADatasetThatLoadsIt) {
  for (const Fetchable& set : kFetchables) {
    EXPECT_TRUE(find_entry(kDatasets, "data set", set.dataset).reads_files) << set.name;
  }
}

TEST(FetchTable, EveryRowSaysWhatToFetchAndHowToCheckIt) {
  for (const Fetchable& set : kFetchables) {
    EXPECT_TRUE(set.address.starts_with("http") && set.address.ends_with('/')) << set.name;
    EXPECT_FALSE(set.files.empty()) << set.name;
    for (const FetchFile& file : set.files) {
      EXPECT_TRUE(is_sum(file.sha256)) << file.name;
      EXPECT_GT(file.bytes, 0u) << file.name;
      EXPECT_EQ(file.members.empty(), !file.name.ends_with(".tar.gz")) << file.name;
    }
  }
}

/// All end up in one folder.
TEST(FetchTable, NoNameComesTwiceInARow) {
  for (const Fetchable& set : kFetchables) {
    std::multiset<std::string_view> names;
    for (const FetchFile& file : set.files) {
      names.insert(file.name);
      for (const FetchMember& member : file.members) names.insert(member.name);
    }
    for (const std::string_view name : names) {
      EXPECT_EQ(names.count(name), 1u) << name;
      EXPECT_EQ(name.find('/'), std::string_view::npos) << name;
    }
  }
}

}  // namespace
}  // namespace impart::data
