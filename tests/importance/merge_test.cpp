// Tables of different processes, merged, know what one table would know.

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/importance/importance_table.h"
#include "tests/support/random_visits.h"

namespace impart::importance {
namespace {

using testing::spec_with_all_notions;
using testing::VisitBatch;

constexpr std::uint64_t kExamples = 60;

/// The visits of one epoch, dealt to processes at random; with `twice`, some examples are visited
/// by two processes.
std::vector<VisitBatch> deal_epoch(std::uint32_t epoch, std::uint32_t processes, bool twice) {
  RandomStream random({.seed = 11, .purpose = Purpose("test"), .epoch = epoch});
  std::vector<VisitBatch> batches(processes);
  for (auto& batch : batches) batch.epoch = epoch;
  for (std::uint64_t i = 0; i < kExamples; ++i) {
    if (random.below(10) == 0) continue;
    const std::uint64_t process = random.below(processes);
    batches[process].add(ExampleId{i}, random);
    if (twice && random.below(5) == 0) batches[(process + 1) % processes].add(ExampleId{i}, random);
  }
  return batches;
}

void expect_equal_importance(const ImportanceTable& a, const ImportanceTable& b, float tolerance,
                             const std::vector<std::string_view>& except = {}) {
  EXPECT_EQ(a.non_finite_visits(), b.non_finite_visits());
  for (const NotionEntry& notion : kNotions) {
    if (std::find(except.begin(), except.end(), notion.name) != except.end()) continue;
    const auto left = a.importance(notion.name);
    const auto right = b.importance(notion.name);
    for (std::uint64_t i = 0; i < kExamples; ++i) {
      ASSERT_NEAR(left[i], right[i], tolerance * std::max(1.0f, std::abs(right[i])))
          << notion.name << " of example " << i;
    }
  }
}

TEST(Merge, AfterEveryEpochIsBitForBitOneTable) {
  for (const std::uint32_t processes : {1, 2, 4, 7}) {
    ImportanceTable one(spec_with_all_notions(kExamples));
    ImportanceTable merged(spec_with_all_notions(kExamples));
    for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
      for (const VisitBatch& batch : deal_epoch(epoch, processes, false)) {
        ImportanceTable local(spec_with_all_notions(kExamples));
        batch.observe(local);
        batch.observe(one);
        merged.merge(local);
      }
    }
    expect_equal_importance(merged, one, 0);
  }
}

TEST(Merge, AtTheEndIsExactForAllThatDoesNotDependOnTime) {
  std::vector<ImportanceTable> processes(3, ImportanceTable(spec_with_all_notions(kExamples)));
  ImportanceTable one(spec_with_all_notions(kExamples));
  for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
    const auto batches = deal_epoch(epoch, 3, true);
    for (std::size_t p = 0; p < 3; ++p) {
      batches[p].observe(processes[p]);
      batches[p].observe(one);
    }
  }
  processes[0].merge(processes[1]);
  processes[0].merge(processes[2]);
  expect_equal_importance(processes[0], one, 1e-5f, {"forgetting", "loss-ema", "loss-last"});
  for (std::uint64_t i = 0; i < kExamples; ++i) {
    EXPECT_EQ(processes[0].statistics(ExampleId{i}).visits, one.statistics(ExampleId{i}).visits);
    EXPECT_EQ(processes[0].statistics(ExampleId{i}).run_visits,
              one.statistics(ExampleId{i}).run_visits);
  }
}

TEST(Merge, OfTwoStretchesOfTimeIsExactInBothDirections) {
  ImportanceTable early(spec_with_all_notions(kExamples));
  ImportanceTable late(spec_with_all_notions(kExamples));
  ImportanceTable one(spec_with_all_notions(kExamples));
  for (std::uint32_t epoch = 0; epoch < 10; ++epoch) {
    for (const VisitBatch& batch : deal_epoch(epoch, 1, false)) {
      batch.observe(epoch < 5 ? early : late);
      batch.observe(one);
    }
  }
  ImportanceTable forwards = early;
  forwards.merge(late);
  expect_equal_importance(forwards, one, 1e-5f);
  ImportanceTable backwards = late;
  backwards.merge(early);
  expect_equal_importance(backwards, one, 1e-5f);
}

TEST(Merge, WithAnEmptyTableChangesNothing) {
  ImportanceTable table(spec_with_all_notions(kExamples));
  deal_epoch(0, 1, true)[0].observe(table);
  ImportanceTable merged = table;
  merged.merge(ImportanceTable(spec_with_all_notions(kExamples)));
  expect_equal_importance(merged, table, 0);
  ImportanceTable empty(spec_with_all_notions(kExamples));
  empty.merge(table);
  expect_equal_importance(empty, table, 0);
}

TEST(Merge, RefusesTablesThatDoNotFit) {
  ImportanceTable table(spec_with_all_notions(kExamples));
  EXPECT_THROW(table.merge(ImportanceTable(spec_with_all_notions(3))), ConfigError);
  EXPECT_THROW(
      table.merge(ImportanceTable({.examples = kExamples, .notions = notions_named({"random"})})),
      ConfigError);
  ImportanceTable next_window(spec_with_all_notions(kExamples));
  next_window.close_window();
  EXPECT_THROW(table.merge(next_window), ConfigError);
}

}  // namespace
}  // namespace impart::importance
