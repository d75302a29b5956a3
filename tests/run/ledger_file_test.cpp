#include "impart/run/ledger_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/run/metrics_log.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

using testing::message_of;
using testing::read_text;
using testing::TemporaryFolder;

LedgerEpoch make_epoch(std::uint32_t number) {
  LedgerEpoch epoch{.epoch = number, .skipped = 3};
  for (std::uint64_t worker = 0; worker < 3; ++worker) {
    epoch.workers.push_back({.bytes_source = 1 + worker,
                             .bytes_local = 2 + worker,
                             .bytes_written = 3,
                             .bytes_sent = 4,
                             .bytes_received = 5,
                             .flows_sent = 6,
                             .flows_received = 7,
                             .sends = 8,
                             .receives = 9,
                             .examples_sent = 10,
                             .examples_received = 11,
                             .peak_stored = 12 + worker,
                             .cache_hits = 13,
                             .cache_misses = 1ull << 63});
  }
  epoch.processes.push_back({.bytes_sent = 20,
                             .sends = 21,
                             .seconds = {.forward = 0.5, .importance_pass = 1.25, .checkpoint = 2},
                             .host_wait = 0.75,
                             .exchange_hidden = 0.25});
  epoch.visits = {
      .visits = 70, .hidden = 30, .refreshed = 4, .bytes_saved = 5, .max_over_mean = 1.5};
  epoch.weights = {.sums = 3, .bytes = weight_bytes(3, 4, 1000)};
  return epoch;
}

TEST(LedgerFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  MetricsLog log(path, 0);
  log.append(ledger_record(make_epoch(0)));
  log.append(ledger_record(make_epoch(1)));
  const auto epochs = read_ledger(path);
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_EQ(epochs[1].epoch, 1u);
  EXPECT_EQ(ledger_record(epochs[0]), ledger_record(make_epoch(0)));
  EXPECT_EQ(epochs[0].workers[2].bytes_local, 4u);
  EXPECT_EQ(epochs[0].workers[0].cache_misses, 1ull << 63);
  EXPECT_EQ(epochs[0].processes[0].seconds.importance_pass, 1.25);
  EXPECT_EQ(epochs[0].processes[0].host_wait, 0.75);
  EXPECT_EQ(epochs[0].processes[0].exchange_hidden, 0.25);
  EXPECT_EQ(epochs[0].skipped, 3u);
  EXPECT_EQ(epochs[0].visits->hidden, 30u);
  EXPECT_EQ(epochs[0].weights->sums, 3u);
  EXPECT_EQ(epochs[0].weights->bytes, 72'000u);
}

TEST(LedgerFile, HasThePromisedMembers) {
  const auto record = ledger_record(make_epoch(4));
  EXPECT_EQ(record.at("epoch"), 4);
  EXPECT_EQ(record.at("workers").at(2).at("worker"), 2);
  EXPECT_EQ(record.at("workers").at(1).at("flows_received"), 7);
  EXPECT_EQ(record.at("workers").at(1).size(), 18u);
  EXPECT_EQ(record.at("processes").at(0).at("rank"), 0);
  EXPECT_EQ(record.at("processes").at(0).at("sends"), 21);
  EXPECT_EQ(record.at("processes").at(0).at("seconds").size(), 15u);
}

TEST(LedgerFile, ReadsFilesThatCalledSendsMessages) {
  const TemporaryFolder folder;
  std::string line = ledger_record(make_epoch(0)).dump();
  for (const auto& [name, formerly] : {std::pair("\"sends\"", "\"messages_sent\""),
                                       std::pair("\"receives\"", "\"messages_received\"")}) {
    for (std::size_t at = 0; (at = line.find(name, at)) != std::string::npos;) {
      line.replace(at, std::string_view(name).size(), formerly);
    }
  }
  ASSERT_NE(line.find("messages_received"), std::string::npos);
  folder.write("ledger.jsonl", line + "\n");
  const auto epochs = read_ledger(folder / "ledger.jsonl");
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_EQ(ledger_record(epochs[0]), ledger_record(make_epoch(0)));
}

TEST(LedgerFile, ReadsFilesThatKnewFewerPhases) {
  const TemporaryFolder folder;
  nlohmann::ordered_json record = ledger_record(make_epoch(0));
  auto& process = record["processes"][0];
  process.erase("host_wait");
  process.erase("exchange_hidden");
  for (const char* phase : {"step", "other"}) process["seconds"].erase(phase);
  const auto epochs = read_ledger(folder.write("ledger.jsonl", record.dump() + "\n"));
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_EQ(epochs[0].processes[0].seconds.total(), 3.75);
  EXPECT_EQ(epochs[0].processes[0].host_wait, 0);
  EXPECT_EQ(epochs[0].processes[0].exchange_hidden, 0);
}

TEST(LedgerFile, ReadsFilesOfBeforeThereWereSelections) {
  const TemporaryFolder folder;
  auto record = ledger_record(make_epoch(0));
  record.erase("visits");
  record.erase("weights");
  record.at("processes").at(0).at("seconds").erase("refresh");
  folder.write("ledger.jsonl", record.dump() + "\n");
  const auto epochs = read_ledger(folder / "ledger.jsonl");
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_FALSE(epochs[0].visits);
  EXPECT_FALSE(epochs[0].weights);
  EXPECT_EQ(epochs[0].processes[0].seconds.refresh, 0);
}

TEST(LedgerFile, ReadsFilesOfBeforeStatisticsWereShared) {
  const TemporaryFolder folder;
  LedgerEpoch epoch = make_epoch(0);
  epoch.processes[0].bytes_statistics = 5;
  auto record = ledger_record(epoch);
  EXPECT_EQ(record.at("processes").at(0).at("bytes_statistics"), 5);
  record.at("processes").at(0).erase("bytes_statistics");
  const auto epochs = read_ledger(folder.write("ledger.jsonl", record.dump() + "\n"));
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_EQ(epochs[0].processes[0].bytes_statistics, 0u);
}

TEST(LedgerFile, TotalsAreSumsAndTheLargestPeak) {
  const store::StorageCost total = total_over_workers(make_epoch(0));
  EXPECT_EQ(total.bytes_source, 6u);
  EXPECT_EQ(total.examples_sent, 30u);
  EXPECT_EQ(total.peak_stored, 14u);
}

TEST(LedgerFile, LeavesOutATornLastLine) {
  const TemporaryFolder folder;
  const std::string line = ledger_record(make_epoch(0)).dump();
  const std::string path = folder.write("ledger.jsonl", line + "\n" + line.substr(0, 50));
  EXPECT_EQ(read_ledger(path).size(), 1u);
}

TEST(LedgerFile, NamesTheLineThatIsWrong) {
  const TemporaryFolder folder;
  const std::string good = ledger_record(make_epoch(0)).dump();
  const auto message = [&](auto&& spoil) {
    nlohmann::ordered_json record = ledger_record(make_epoch(1));
    spoil(record);
    const std::string path = folder.write("ledger.jsonl", good + "\n" + record.dump() + "\n");
    const std::string text = message_of<DataError>([&] { read_ledger(path); });
    EXPECT_EQ(text.substr(0, path.size() + 4), path + ":2: ");
    return text.substr(std::min(text.size(), path.size() + 4));
  };
  EXPECT_EQ(message([](auto& r) { r["workers"][1].erase("bytes_sent"); }),
            "\"bytes_sent\" is missing");
  EXPECT_EQ(message([](auto& r) { r["workers"][0]["bytes_sent"] = -1; }),
            "\"bytes_sent\" is -1, not a count");
  EXPECT_EQ(message([](auto& r) { r["workers"][1]["worker"] = 2; }),
            "\"worker\" is 2 where 1 should come");
  EXPECT_EQ(message([](auto& r) { r["workers"] = 5; }), "\"workers\" is not a list");
  EXPECT_EQ(message([](auto& r) { r["workers"][0] = "w"; }), "\"worker\" is missing");
  EXPECT_EQ(message([](auto& r) { r["processes"][0]["seconds"]["forward"] = "x"; }),
            "\"forward\" is \"x\", not a number");
  EXPECT_EQ(message([](auto& r) { r.erase("skipped"); }), "\"skipped\" is missing");
}

TEST(LedgerFile, RefusesValuesBriefly) {
  const TemporaryFolder folder;
  const std::string list = std::string(300'000, '[') + std::string(300'000, ']');
  for (const std::string& value : {list, "\"" + std::string(1 << 20, 'x') + "\""}) {
    const std::string path = folder.write(
        "ledger.jsonl", "{\"epoch\": 0, \"workers\": [{\"worker\": " + value +
                            "}], \"processes\": [], \"skipped\": 0}\n{\"epoch\": 1}\n");
    const std::string message = message_of<DataError>([&] { read_ledger(path); });
    EXPECT_TRUE(message.starts_with(path + ":1: ")) << message.substr(0, 200);
    EXPECT_LT(message.size(), 500u);
  }
}

}  // namespace
}  // namespace impart::run
