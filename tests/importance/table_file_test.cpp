#include "impart/importance/table_file.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <xxhash.h>

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

/// Columns differ in their width: forgetting has one of bytes.
TEST(TableFile, LoadsWithTheColumnsOfAnyNotion) {
  const TemporaryFolder folder;
  for (const NotionEntry& notion : kNotions) {
    if (overlap(notion.needs, StateSet::kTruth)) continue;
    save_table(folder / "table", ImportanceTable({.examples = 1000, .notions = {notion}}));
    EXPECT_EQ(load_table(folder / "table").spec().examples, 1000u) << notion.name;
  }
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

/// The table's file with another header, whose checksum is right.
std::string with_header(const std::string& bytes, std::string_view from, std::string_view to) {
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 12, sizeof length);
  std::string header = bytes.substr(24, length);
  const std::string arrays = bytes.substr(24 + length);
  header.replace(header.find(from), from.size(), to);
  length = static_cast<std::uint32_t>(header.size());
  const std::uint64_t hash = XXH3_64bits(header.data(), header.size());
  std::string result = bytes.substr(0, 12);
  result.append(reinterpret_cast<const char*>(&length), sizeof length);
  result.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  return result + header + arrays;
}

TEST(TableFile, MakesNoRoomForWhatIsNotThere) {
  const std::string whole = table_bytes(make_used_table());
  const auto complaint = [&](std::string_view from, std::string_view to) {
    const std::string changed = with_header(whole, from, to);
    return message_of<DataError>([&] { table_from_bytes(std::as_bytes(std::span(changed))); });
  };
  EXPECT_NE(complaint("\"examples\":20", "\"examples\":4000000000").find("4000000000 examples in"),
            std::string::npos);
  EXPECT_EQ(complaint("\"history_epochs\":4", "\"history_epochs\":4000000000"),
            "more epochs of history than arrays");
  EXPECT_EQ(complaint("\"ema_weight\":", "\"ema_weight\":9").substr(0, 16), "damaged header: ");
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
