#include "impart/importance/importance_table.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/npy.h"
#include "tests/support/temporary_folder.h"

namespace impart::importance {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ImportanceTable make_table(std::uint64_t examples, const std::vector<std::string_view>& notions) {
  return ImportanceTable({.examples = examples, .notions = notions_named(notions)});
}

/// Observes losses of examples 0, 1, 2, … in one batch.
void observe_losses(ImportanceTable& table, std::uint32_t epoch, const std::vector<float>& losses) {
  std::vector<ExampleId> ids;
  for (std::uint64_t i = 0; i < losses.size(); ++i) ids.push_back(ExampleId{i});
  table.observe(epoch, ids, {.loss = losses});
}

void observe_correct(ImportanceTable& table, std::uint32_t epoch,
                     const std::vector<float>& correct) {
  std::vector<ExampleId> ids;
  for (std::uint64_t i = 0; i < correct.size(); ++i) ids.push_back(ExampleId{i});
  table.observe(epoch, ids, {.correct = correct});
}

TEST(ImportanceTable, KeepsAnUnvisitedExamplesPreviousImportance) {
  ImportanceTable table = make_table(3, {"loss-average"});
  observe_losses(table, 0, {1, 2, 6});
  table.close_window();
  observe_losses(table, 1, {5, 5});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{5, 5, 6}));
}

TEST(ImportanceTable, GivesTheNeverVisitedTheMeanOfTheOthers) {
  ImportanceTable table = make_table(3, {"loss-average"});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{0, 0, 0}));
  observe_losses(table, 0, {1, 3});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{1, 3, 2}));
  table.close_window();
  observe_losses(table, 1, {5, 7});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{5, 7, 6})) << "the mean of now";
}

TEST(ImportanceTable, TellsTheImportanceOfAWindowThatItCloses) {
  ImportanceTable table = make_table(3, {"loss-average", "random"}), twin = table;
  for (std::uint32_t window = 0; window < 3; ++window) {
    observe_losses(table, window, {1, 3});
    observe_losses(twin, window, {1, 3});
    for (const char* notion : {"loss-average", "random"}) {
      ImportanceTable copy = table;
      EXPECT_EQ(copy.close_window(notion), table.importance(notion)) << notion;
    }
    table.close_window("random");
    twin.close_window();
    EXPECT_EQ(table.importance("random"), twin.importance("random"));
  }
  EXPECT_THROW(table.close_window("loss-last"), ConfigError);
}

TEST(ImportanceTable, ForgetsTheVisitsOfAClosedWindow) {
  ImportanceTable table = make_table(1, {"loss-average"});
  observe_losses(table, 0, {100});
  table.close_window();
  observe_losses(table, 1, {1});
  observe_losses(table, 2, {3});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{2}));
}

TEST(ImportanceTable, RemembersTheWholeRunWhenAskedTo) {
  ImportanceTable table(
      {.examples = 1, .notions = notions_named({"loss-average"}), .window = WindowKind::kRun});
  observe_losses(table, 0, {4});
  table.close_window();
  observe_losses(table, 1, {2});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{3}));
}

TEST(ImportanceTable, IgnoresTheFirstEpochsButNotForForgetting) {
  ImportanceTable table(
      {.examples = 1, .notions = notions_named({"correctness", "forgetting"}), .ignore = 1});
  observe_correct(table, 0, {1});
  observe_correct(table, 1, {0});
  EXPECT_EQ(table.importance("correctness"), (std::vector<float>{1}));
  EXPECT_EQ(table.importance("forgetting"), (std::vector<float>{1}));
}

TEST(LossVariance, IsTheMeanLossWhenNobodyWasVisitedTwice) {
  ImportanceTable table = make_table(2, {"loss-variance"});
  observe_losses(table, 0, {3, 1});
  EXPECT_EQ(table.importance("loss-variance"), (std::vector<float>{3, 1}));
  observe_losses(table, 1, {5});  // now example 0 has a variance, and 1 has not
  EXPECT_EQ(table.importance("loss-variance"), (std::vector<float>{2, 2}));
}

TEST(Forgetting, RanksTheNeverLearnedHardest) {
  ImportanceTable table = make_table(3, {"forgetting"});
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    observe_correct(table, epoch, {0, epoch % 2 == 0 ? 1.0f : 0.0f, 1});
  }
  EXPECT_EQ(table.importance("forgetting"), (std::vector<float>{6, 3, 0}));
}

TEST(Forgetting, CountsAnExampleThatComesTwiceInABatchTwice) {
  ImportanceTable table = make_table(1, {"forgetting"});
  const std::vector<ExampleId> ids = {ExampleId{0}, ExampleId{0}, ExampleId{0}};
  table.observe(0, ids, {.correct = std::vector<float>{1, 0, 1}});
  EXPECT_EQ(table.importance("forgetting"), (std::vector<float>{1}));
  EXPECT_EQ(table.statistics(ExampleId{0}).run_visits, 3u);
}

TEST(ImportanceTable, CountsAnExampleThatComesTwiceInABatchTwice) {
  ImportanceTable table = make_table(2, {"loss-average", "loss-variance"});
  const std::vector<ExampleId> ids = {ExampleId{1}, ExampleId{1}};
  table.observe(0, ids, {.loss = std::vector<float>{1, 3}});
  EXPECT_EQ(table.statistics(ExampleId{1}).visits, 2u);
  EXPECT_EQ(table.importance("loss-average")[1], 2);
  EXPECT_EQ(table.importance("loss-variance")[1], 2);
}

TEST(NonFiniteLosses, AreCountedAndRankAsTheLargestFiniteImportance) {
  ImportanceTable table = make_table(4, {"loss-average"});
  observe_losses(table, 0, {1, kNaN, 7, std::numeric_limits<float>::infinity()});
  EXPECT_EQ(table.non_finite_visits(), 2u);
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{1, 7, 7, 7}));
}

TEST(NonFiniteLosses, DoNotPoisonLaterWindows) {
  ImportanceTable table = make_table(2, {"loss-average", "loss-ema"});
  observe_losses(table, 0, {kNaN, 4});
  table.close_window();
  observe_losses(table, 1, {2, 4});
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{2, 4}));
  EXPECT_EQ(table.importance("loss-ema"), (std::vector<float>{2, 4}));
}

TEST(RandomNotion, DrawsAnewInEveryWindow) {
  ImportanceTable table = make_table(4, {"random"});
  const auto first = table.importance("random");
  EXPECT_EQ(table.importance("random"), first);
  table.close_window();
  EXPECT_NE(table.importance("random"), first);
}

TEST(ImportanceTable, KeepsOnlyTheColumnsItNeeds) {
  const Columns columns = make_columns(find_entry(kNotions, "notion", "loss-average").needs, 10);
  EXPECT_EQ(columns.mean[Signal::kLoss].size(), 10u);
  EXPECT_TRUE(columns.m2[Signal::kLoss].empty());
  EXPECT_TRUE(columns.mean[Signal::kProbability].empty());
  EXPECT_TRUE(columns.sum[Signal::kCorrect].empty());
  EXPECT_TRUE(columns.run_visits.empty());
  const Columns noise = make_columns(find_entry(kNotions, "notion", "random").needs, 10);
  EXPECT_TRUE(noise.visits.empty());
}

TEST(ImportanceTable, RefusesABadBatchAndStaysAsItWas) {
  ImportanceTable table = make_table(2, {"loss-average"});
  observe_losses(table, 0, {1, 2});
  const std::vector<ExampleId> outside = {ExampleId{0}, ExampleId{2}};
  EXPECT_EQ(message_of<DataError>([&] {
              table.observe(1, outside, {.loss = std::vector<float>{9, 9}});
            }),
            "example id 2 is out of range: there are 2 examples");
  EXPECT_EQ(
      message_of<DataError>([&] { table.observe(1, outside, {.loss = std::vector<float>{9}}); }),
      "the signal 'loss' has 1 values for a batch of 2 examples");
  EXPECT_EQ(table.importance("loss-average"), (std::vector<float>{1, 2}));
}

TEST(ImportanceTable, RefusesASpecThatCannotBe) {
  EXPECT_THROW(ImportanceTable({.examples = 1}), ConfigError);
  EXPECT_EQ(message_of<ConfigError>([] { make_table(1, {"truth"}); }),
            "the notion 'truth' needs a data set that knows how hard its examples are");
  EXPECT_THROW(
      ImportanceTable({.examples = 1, .notions = notions_named({"loss-ema"}), .ema_weight = 0}),
      ConfigError);
  EXPECT_EQ(message_of<ConfigError>([] { make_table(1, {"los-average"}); }),
            "unknown notion 'los-average', did you mean 'loss-average'?");
  EXPECT_EQ(message_of<ConfigError>([] { make_table(1, {"random"}).importance("truth"); }),
            "unknown notion of this table 'truth'; there are: random");
}

TEST(ImportanceTable, TakesANotionOfYourOwn) {
  const double share = 2;
  const AnyNotion largest{
      {"mean-plus-visits", "mean loss plus twice the number of visits",
       [share](const ExampleStatistics& e) { return e.loss_mean + share * e.visits; }},
      StateSet::kLossMean};
  ImportanceTable table({.examples = 2, .notions = {largest}});
  observe_losses(table, 0, {1, 5});
  EXPECT_EQ(table.importance("mean-plus-visits"), (std::vector<float>{3, 7}));
}

TEST(History, IsExampleByEpoch) {
  ImportanceTable table(
      {.examples = 2, .notions = notions_named({"loss-average"}), .history = true});
  observe_losses(table, 0, {1, 2});
  observe_losses(table, 2, {3});
  const TemporaryFolder folder;
  write_history(folder / "history.npy", table);
  const InputFile file(folder / "history.npy");
  const NpyArray array = parse_npy(file);
  EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{2, 3}));
  const auto* values = reinterpret_cast<const float*>(array.data.data());
  EXPECT_EQ(values[0], 1);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 3);
  EXPECT_EQ(values[3], 2);
}

TEST(History, ReadsBackAsItWas) {
  ImportanceTable table(
      {.examples = 2, .notions = notions_named({"loss-average"}), .history = true});
  observe_losses(table, 0, {1, 2});
  observe_losses(table, 1, {3});
  const TemporaryFolder folder;
  write_history(folder / "history.npy", table);
  const auto history = read_history(folder / "history.npy");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0], (std::vector<float>{1, 2}));
  EXPECT_EQ(history[1][0], 3);
  EXPECT_TRUE(std::isnan(history[1][1]));
}

TEST(ImportanceCsv, HasOneColumnPerNotion) {
  ImportanceTable table = make_table(2, {"loss-average", "loss-last"});
  observe_losses(table, 0, {1, 2});
  observe_losses(table, 1, {3});
  const TemporaryFolder folder;
  write_importance_csv(folder / "importance.csv", table);
  EXPECT_EQ(testing::read_text(folder / "importance.csv"),
            "id,visits,loss-average,loss-last\n0,2,2,3\n1,1,2,2\n");
}

}  // namespace
}  // namespace impart::importance
