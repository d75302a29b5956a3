#include "impart/importance/table_file.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/random_visits.h"
#include "tests/support/temporary_folder.h"

namespace impart::importance {
namespace {

using testing::message_of;
using testing::TemporaryFolder;
using testing::VisitBatch;

/// A table in its second window, with all it can have.
ImportanceTable make_used_table() {
  ImportanceTable table(testing::spec_with_all_notions(20));
  RandomStream random({.seed = 1, .purpose = Purpose("test")});
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    VisitBatch batch{.epoch = epoch, .ids = {}, .values = {}};
    for (std::uint64_t i = 0; i < 15; ++i) batch.add(ExampleId{random.below(20)}, random);
    batch.observe(table);
    if (epoch == 1) table.close_window();
  }
  return table;
}

TEST(TableFile, KeepsTheWholeState) {
  const TemporaryFolder folder;
  ImportanceTable table = make_used_table();
  save_table(folder / "table", table);
  ImportanceTable loaded = load_table(folder / "table");
  // What is the same must also go on the same.
  RandomStream random({.seed = 2, .purpose = Purpose("test")});
  VisitBatch batch{.epoch = 4, .ids = {}, .values = {}};
  for (std::uint64_t i = 0; i < 5; ++i) batch.add(ExampleId{i}, random);
  for (ImportanceTable* t : {&table, &loaded}) {
    batch.observe(*t);
    t->close_window();
  }
  for (const NotionEntry& notion : kNotions) {
    EXPECT_EQ(loaded.importance(notion.name), table.importance(notion.name)) << notion.name;
  }
  EXPECT_EQ(loaded.non_finite_visits(), table.non_finite_visits());
  EXPECT_EQ(loaded.losses_by_epoch().size(), table.losses_by_epoch().size());
  save_table(folder / "a", table);
  save_table(folder / "b", loaded);
  EXPECT_EQ(testing::read_text(folder / "a"), testing::read_text(folder / "b"));
}

TEST(TableFile, IsTheSameInMemory) {
  const TemporaryFolder folder;
  const ImportanceTable table = make_used_table();
  save_table(folder / "table", table);
  const std::string bytes = table_bytes(table);
  EXPECT_EQ(testing::read_text(folder / "table"), bytes);
  EXPECT_EQ(table_bytes(table_from_bytes(std::as_bytes(std::span(bytes)))), bytes);
}

TEST(TableFile, RemembersWhatItKeepsBesidesItsNotions) {
  const ImportanceTable table({.examples = 3, .keeps = StateSet::kForgetting});
  const std::string bytes = table_bytes(table);
  EXPECT_EQ(table_from_bytes(std::as_bytes(std::span(bytes))).needs(), StateSet::kForgetting);
}

TEST(TableFile, NoticesEveryFlippedBitThatMatters) {
  const std::string whole = table_bytes(make_used_table());
  std::size_t unnoticed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    try {
      table_from_bytes(std::as_bytes(std::span(damaged)));
      // Only the zeros between two arrays mean nothing.
      ASSERT_EQ(whole[at], '\0') << at;
      ++unnoticed;
    } catch (const DataError&) {
    }
  }
  EXPECT_LT(unnoticed, whole.size() / 2);
}

TEST(TableFile, NoticesEveryTruncation) {
  const TemporaryFolder folder;
  save_table(folder / "table", make_used_table());
  const std::string whole = testing::read_text(folder / "table");
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    const std::string path = folder.write("cut", std::string_view(whole).substr(0, length));
    EXPECT_THROW(load_table(path), DataError) << length;
  }
  EXPECT_THROW(load_table(folder.write("long", whole + "x")), DataError);
}

TEST(TableFile, SaysWhatItIsNot) {
  const TemporaryFolder folder;
  const std::string path = folder.write("other", std::string(100, 'x'));
  EXPECT_EQ(message_of<DataError>([&] { load_table(path); }), path + ": not an importance table");
  EXPECT_NE(message_of<DataError>([&] { load_table(folder / "none"); }).find("none: cannot open"),
            std::string::npos);
}

}  // namespace
}  // namespace impart::importance
