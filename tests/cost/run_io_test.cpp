#include "impart/cost/run_io.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/run/ledger_file.h"
#include "tests/support/temporary_folder.h"

namespace impart::cost {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

constexpr std::uint64_t kExamples = 1000;
constexpr std::uint64_t kPayload = 500;
constexpr std::uint64_t kMoved = 200;

/// A run of two workers that exchange 100 examples each before every epoch but the first.
struct FabricatedRun {
  TemporaryFolder folder = {};
  std::string config =
      "workers: {count: 2}\nepochs: 3\nstore: {kind: partitioned}\n"
      "partition: {heuristic: random, warmup: 0, interval: 0}\n"
      "exchange: {strategy: is-pair, fraction: 0.2}\n";
  std::uint32_t epochs = 3;
  bool in_directories = false;
  bool has_summary = true;
  double excess = 1;  ///< measured network bytes over predicted

  run::LedgerEpoch ledger(std::uint32_t epoch) const {
    run::LedgerEpoch line{.epoch = epoch};
    const std::uint64_t moved = epoch == 0 ? 0 : kMoved / 2;
    const std::uint64_t reads = (epoch == 0 ? 1 : 2) * kExamples / 2;
    for (int worker = 0; worker < 2; ++worker) {
      store::StorageCost cost{.bytes_sent = static_cast<std::uint64_t>(
                                  excess * static_cast<double>(moved * (kPayload + 8))),
                              .flows_sent = epoch == 0 ? 0u : 1u,
                              .examples_sent = moved,
                              .peak_stored = kExamples / 2 + moved};
      if (epoch == 0) cost.bytes_source = kExamples / 2 * kPayload;
      if (in_directories) {
        cost.bytes_local = (reads + moved) * kPayload;
        cost.bytes_written =
            moved * (kPayload + 96) + (epoch == 0 ? kExamples / 2 * (kPayload + 48) : 0);
      }
      line.workers.push_back(cost);
    }
    return line;
  }

  std::string write() const {
    std::string metrics, ledgers;
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
      metrics += fmt::format(
          R"({{"epoch": {}, "placement": {{"event": "{}", "moved": {}, "messages": {}}}}})"
          "\n",
          epoch, epoch == 0 ? "random" : "exchange", epoch == 0 ? 0 : kMoved, epoch == 0 ? 0 : 2);
      ledgers += run::ledger_record(ledger(epoch)).dump() + "\n";
    }
    folder.write("config.yaml", config);
    folder.write("metrics.jsonl", metrics);
    folder.write("ledger.jsonl", ledgers);
    if (!has_summary) return folder.path();
    folder.write("summary.json",
                 fmt::format(R"({{"examples": {}, "payload_bytes_total": {}, "largest_part": {}}})",
                             kExamples, kExamples * kPayload, kExamples / 2));
    folder.write("DONE", "");
    return folder.path();
  }
};

const IoComparison& row_of(const RunIo& run, std::string_view quantity) {
  for (const IoComparison& row : run.comparisons) {
    if (row.quantity == quantity) return row;
  }
  throw Error(fmt::format("no row {}", quantity));
}

TEST(RunIo, AgreesWithALedgerThatIsAsPredicted) {
  FabricatedRun fabricated;
  fabricated.in_directories = true;
  const RunIo run = compare_run_io(fabricated.write(), {});
  EXPECT_EQ(run.store, "partitioned in directories");
  EXPECT_EQ(run.epochs, 3u);
  ASSERT_EQ(run.comparisons.size(), 6u);
  for (const IoComparison& row : run.comparisons) {
    EXPECT_GT(row.measured, 0) << row.quantity;
    EXPECT_EQ(row.deviation(), 0) << row.quantity;
    EXPECT_EQ(row.worst_deviation, 0) << row.quantity;
  }
  EXPECT_EQ(row_of(run, "network_bytes").predicted, 2 * kMoved * (kPayload + 8));
  EXPECT_EQ(run.peak_stored, 600u);
  EXPECT_EQ(run.peak_bound, 600u);
  EXPECT_TRUE(run.notes.empty());
}

TEST(RunIo, InMemoryNothingIsLocal) {
  const RunIo run = compare_run_io(FabricatedRun{}.write(), {});
  EXPECT_EQ(run.store, "partitioned in memory");
  EXPECT_EQ(run.comparisons.size(), 4u);
}

TEST(RunIo, DataWithoutFilesHasNoSource) {
  FabricatedRun fabricated;
  const std::string path = fabricated.write();
  std::string ledgers;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    run::LedgerEpoch line = fabricated.ledger(epoch);
    for (store::StorageCost& cost : line.workers) cost.bytes_source = 0;
    ledgers += run::ledger_record(line).dump() + "\n";
  }
  fabricated.folder.write("ledger.jsonl", ledgers);
  const RunIo run = compare_run_io(path, {});
  EXPECT_EQ(run.comparisons.size(), 3u);
  EXPECT_EQ(run.notes.at(0), "nothing was read from files of the data set: it was in memory");
}

TEST(RunIo, SaysByHowMuchTheMeasuredDeviates) {
  FabricatedRun fabricated;
  fabricated.excess = 1.03;
  const RunIo run = compare_run_io(fabricated.write(), {});
  const IoComparison& network = row_of(run, "network_bytes");
  EXPECT_NEAR(network.deviation(), 0.03, 1e-6);
  EXPECT_NEAR(network.worst_deviation, 0.03, 1e-6);
  EXPECT_EQ(network.worst_epoch, 1u);
  EXPECT_EQ(row_of(run, "flows").deviation(), 0);
}

TEST(RunIo, ARunningRunIsComparedAsFarAsItHasCome) {
  FabricatedRun fabricated;
  fabricated.has_summary = false;
  const std::string path = fabricated.write();
  RunIo run = compare_run_io(path, {});
  EXPECT_EQ(run.comparisons.size(), 2u);  // no bytes without sizes
  ASSERT_EQ(run.notes.size(), 2u);
  EXPECT_EQ(run.notes[0], "is still running, or was killed");
  EXPECT_NE(run.notes[1].find("--payload"), std::string::npos);
  EXPECT_FALSE(run.peak_bound);
  run = compare_run_io(path, {.examples = kExamples, .payload_bytes = kPayload});
  EXPECT_EQ(row_of(run, "network_bytes").deviation(), 0);

  // The ledger of the last epoch is not written yet.
  const std::string ledger = testing::read_text(path + "/ledger.jsonl");
  fabricated.folder.write("ledger.jsonl", ledger.substr(0, ledger.size() - 20));
  run = compare_run_io(path, {.examples = kExamples, .payload_bytes = kPayload});
  EXPECT_EQ(run.epochs, 2u);
  EXPECT_EQ(run.notes[1], "2 of 3 epochs are in both metrics.jsonl and ledger.jsonl");
}

TEST(RunIo, ARunWithoutLedgerSaysSo) {
  const FabricatedRun fabricated;
  const std::string path = fabricated.write();
  std::filesystem::remove(path + "/ledger.jsonl");
  const RunIo run = compare_run_io(path, {});
  EXPECT_TRUE(run.comparisons.empty());
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_EQ(run.notes[0], "has no ledger.jsonl: nothing was measured");
}

TEST(RunIo, ReplicatedInMemorySaysSo) {
  FabricatedRun fabricated;
  fabricated.config = "workers: {count: 2}\nepochs: 3\nstore: {kind: replicated}\n";
  const std::string path = fabricated.write();
  std::string ledgers;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    ledgers += run::ledger_record({.epoch = epoch, .workers = {{}, {}}}).dump() + "\n";
  }
  fabricated.folder.write("ledger.jsonl", ledgers);
  const RunIo run = compare_run_io(path, {});
  EXPECT_TRUE(run.comparisons.empty());
  EXPECT_EQ(run.notes.at(0), "replicated in memory: no bytes are read or sent for examples");
}

TEST(RunIo, ReplicatedFromFilesReadsAllButTheHits) {
  FabricatedRun fabricated;
  fabricated.config = "workers: {count: 2}\nepochs: 3\nstore: {kind: replicated}\n";
  const std::string path = fabricated.write();
  std::string ledgers;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    const store::StorageCost cost{
        .bytes_source = 400 * kPayload, .cache_hits = 100, .cache_misses = 400};
    ledgers += run::ledger_record({.epoch = epoch, .workers = {cost, cost}}).dump() + "\n";
  }
  fabricated.folder.write("ledger.jsonl", ledgers);
  const RunIo run = compare_run_io(path, {});
  ASSERT_EQ(run.comparisons.size(), 1u);
  EXPECT_EQ(row_of(run, "source_bytes").predicted, 3 * 800 * kPayload);
  EXPECT_EQ(row_of(run, "source_bytes").deviation(), 0);
}

TEST(RunIo, SomethingWhereNothingWasPredictedDeviatesInfinitely) {
  EXPECT_TRUE(std::isinf(IoComparison{.predicted = 0, .measured = 5}.deviation()));
  EXPECT_EQ((IoComparison{.predicted = 0, .measured = 0}).deviation(), 0);
  EXPECT_EQ((IoComparison{.predicted = 4, .measured = 3}).deviation(), -0.25);
}

TEST(RunIo, BadInputIsNamed) {
  const TemporaryFolder nothing;
  EXPECT_EQ(message_of<DataError>([&] { compare_run_io(nothing.path(), {}); }),
            nothing.path() + ": is no run directory: it has no config.yaml");
  const FabricatedRun fabricated;
  const std::string path = fabricated.write();
  const auto message = [&](std::string_view file, std::string_view content) {
    fabricated.write();
    fabricated.folder.write(file, content);
    return message_of<DataError>([&] { compare_run_io(path, {}); });
  };
  EXPECT_EQ(message("summary.json", "{"), path + "/summary.json: offset 2: is not JSON");
  EXPECT_EQ(message("summary.json", "{}"),
            path + "/summary.json: \"examples\" is missing or not a number");
  EXPECT_EQ(message("metrics.jsonl", "{\"epoch\": 0}\n{\"epoch\": 1, \"placement\": {}}\n"),
            path + "/metrics.jsonl:2: \"moved\" is missing or not a number");
  EXPECT_EQ(message("ledger.jsonl", "{\"epoch\": 0}\n{\"epoch\": 1}\n"),
            path + "/ledger.jsonl:1: \"workers\" is missing");
}

}  // namespace
}  // namespace impart::cost
