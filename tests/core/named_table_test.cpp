#include "impart/core/named_table.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using Function = int();
constexpr Entry<Function> kTable[] = {
    {"stripes", "one", [] { return 1; }},
    {"blocks", "two", [] { return 2; }},
    {"class-stripes", "three", [] { return 3; }},
};
static_assert(names_are_unique(kTable));

std::string name_complaint(std::string_view name) {
  return testing::message_of<ConfigError>([&] { find_entry(kTable, "heuristic", name); });
}

TEST(NamedTable, FindsARowByName) {
  EXPECT_EQ(find_entry(kTable, "heuristic", "blocks").function(), 2);
}

TEST(NamedTable, SuggestsTheNearestName) {
  EXPECT_EQ(name_complaint("strips"), "unknown heuristic 'strips', did you mean 'stripes'?");
  EXPECT_EQ(name_complaint("blokcs"), "unknown heuristic 'blokcs', did you mean 'blocks'?");
  EXPECT_EQ(name_complaint("class_stripes"),
            "unknown heuristic 'class_stripes', did you mean 'class-stripes'?");
}

TEST(NamedTable, ListsAllNamesWhenNoneIsNear) {
  EXPECT_EQ(name_complaint("quantum"),
            "unknown heuristic 'quantum'; there are: stripes, blocks, class-stripes");
  EXPECT_EQ(name_complaint(""), "unknown heuristic ''; there are: stripes, blocks, class-stripes");
}

}  // namespace
}  // namespace impart
