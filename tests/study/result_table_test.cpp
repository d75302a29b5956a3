#include "impart/study/result_table.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::study {
namespace {

using testing::TemporaryFolder;

ResultRow row_of(const std::string& arm, std::uint64_t seed) {
  ResultRow row{.run = {.arm = arm,
                        .seed = seed,
                        .folder = {},
                        .config_hash = "0123456789abcdef",
                        .purpose = RunPurpose::kConfirm,
                        .epochs = 7}};
  row.build = {.version = "1.2", .commit = "abc"};
  row.summary.numbers = {{"best_accuracy", 0.1 + 0.2}, {"visits", 1e15}, {"of_the_future", 3}};
  row.summary.weights_sha256 = "ff";
  return row;
}

ResultTable table_of_two_arms() {
  ResultTable table;
  table.study.name = "s";
  table.study.baseline = "a \"b\", c";
  table.study.arms = {{.name = "z", .settings = {{"data.files", "[x, y]"}}},
                      {.name = "a \"b\", c", .settings = {{"data.files", ""}}}};
  table.study.target = 82.5;
  table.study.growing = SeedPlan{.until = 0, .planned = {2, 4}, .taken = {}};
  for (const std::uint64_t seed : {10, 9}) {
    for (const StudyArm& arm : table.study.arms) add_row(table, row_of(arm.name, seed));
  }
  return table;
}

TEST(ResultTable, ReadsBackWhatItWrote) {
  const TemporaryFolder folder;
  const ResultTable table = table_of_two_arms();
  const std::string text = to_csv(table);
  const ResultTable read = read_result_table(folder.write("r.csv", text));
  EXPECT_EQ(to_csv(read), text);
  ASSERT_EQ(read.rows.size(), 4u);
  EXPECT_EQ(read.rows[0].run.arm, "a \"b\", c");
  EXPECT_EQ(read.rows[0].run.seed, 9u);
  EXPECT_EQ(read.rows[3].run, table.rows[3].run);
  EXPECT_EQ(read.rows[3].line, 5u);
  EXPECT_EQ(read.rows[3].summary.numbers, table.rows[3].summary.numbers);
  EXPECT_EQ(read.study.growing->planned, (std::vector<std::uint64_t>{2, 4}));
  EXPECT_EQ(read.study.target, 82.5);
}

TEST(ResultTable, FindsARunOnlyWithItsConfiguration) {
  const ResultTable table = table_of_two_arms();
  StudyRun run = table.rows[2].run;
  EXPECT_EQ(find_row(table, run), &table.rows[2]);
  run.config_hash = "fedcba9876543210";
  EXPECT_EQ(find_row(table, run), nullptr);
  run = table.rows[2].run;
  run.epochs = 8;
  EXPECT_EQ(find_row(table, run), nullptr);
}

TEST(ResultTable, RowsOfTwoStudiesAreRefused) {
  const TemporaryFolder folder;
  std::string text = to_csv(table_of_two_arms());
  text.replace(text.rfind(",s,"), 3, ",t,");
  EXPECT_NE(testing::message_of<DataError>([&] {
              read_result_table(folder.write("r.csv", text));
            }).find("r.csv:5: study, baseline"),
            std::string::npos);
}

}  // namespace
}  // namespace impart::study
