#include "impart/run/metrics_log.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;
using testing::message_of;
using testing::read_text;
using testing::TemporaryFolder;

// The sums are those of Python's zlib.crc32.
constexpr std::string_view kThree =
    "{\"epoch\":0,\"loss\":1.5,\"crc32\":\"2e2bd9aa\"}\n"
    "{\"epoch\":1,\"loss\":1.25,\"crc32\":\"204b05c3\"}\n"
    "{\"epoch\":2,\"loss\":1.0,\"crc32\":\"b27ab3ba\"}\n";
constexpr std::string_view kOlder = "{\"epoch\":0,\"loss\":1.5}\n{\"epoch\":1,\"loss\":1.25}\n";

void append_epochs(MetricsLog& log, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t epoch = first; epoch < last; ++epoch) {
    log.append(Json{{"epoch", epoch}, {"loss", 1.5 - 0.25 * epoch}});
  }
}

std::vector<Json> read_records(const std::string& path) {
  std::vector<Json> records;
  visit_records(path, [&](const Json& record, std::size_t line) {
    records.push_back(record);
    EXPECT_EQ(line, records.size());
  });
  return records;
}

TEST(MetricsLog, WritesOneLinePerRecordInTheOrderOfItsMembersAndItsSumLast) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl", 0);
  append_epochs(log, 0, 3);
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), kThree);
  EXPECT_EQ(read_records(folder / "metrics.jsonl").at(1), (Json{{"epoch", 1}, {"loss", 1.25}}));
}

TEST(MetricsLog, LeavesTheSameFileWhetherTheRunWasInterruptedOrNot) {
  for (std::uint32_t epoch = 0; epoch <= 3; ++epoch) {
    const TemporaryFolder folder;
    const std::string path = folder.write("metrics.jsonl", kThree);
    MetricsLog log(path, epoch);
    append_epochs(log, epoch, 3);
    EXPECT_EQ(read_text(path), kThree) << "resumed at epoch " << epoch;
  }
}

TEST(MetricsLog, DropsALastLineThatIsCutOffAtAnyByte) {
  const std::size_t second = kThree.find('\n') + 1;
  const std::size_t third = kThree.find('\n', second) + 1;
  for (std::size_t size = third; size < kThree.size(); ++size) {
    const TemporaryFolder folder;
    const std::string path = folder.write("metrics.jsonl", kThree.substr(0, size));
    EXPECT_EQ(read_records(path).size(), 2u);
    MetricsLog log(path, 2);
    EXPECT_EQ(read_text(path), kThree.substr(0, third));
    append_epochs(log, 2, 3);
    EXPECT_EQ(read_text(path), kThree);
  }
}

TEST(MetricsLog, DropsALastLineOfZeros) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("metrics.jsonl", std::string(kThree) + std::string(20, '\0') + "\n");
  const MetricsLog log(path, 3);
  EXPECT_EQ(read_text(path), kThree);
}

TEST(MetricsLog, NamesTheLineThatIsDamagedInTheMiddle) {
  const TemporaryFolder folder;
  const std::string path = folder.write("metrics.jsonl", "{\"epoch\":0}\n{\"epo\n{\"epoch\":2}\n");
  try {
    const MetricsLog log(path, 3);
    FAIL() << "a damaged line was accepted";
  } catch (const DataError& error) {
    EXPECT_EQ(error.what(), path + ":2: not a JSON object with an \"epoch\"");
  }
  EXPECT_NE(read_text(path).find("\"epo\n"), std::string::npos) << "the file was changed";
  EXPECT_THROW(read_records(path), DataError);
}

TEST(MetricsLog, NoticesEveryFlippedBit) {
  const TemporaryFolder folder;
  const std::size_t last_end = kThree.size() - 1;  // without it the last line is merely torn
  for (std::size_t byte = 0; byte < last_end; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged(kThree);
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      const std::string path = folder.write("metrics.jsonl", damaged);
      EXPECT_NE(message_of<DataError>([&] { read_records(path); }), "")
          << "byte " << byte << " bit " << bit;
    }
  }
}

TEST(MetricsLog, NoticesLinesThatAreMissingTheirSumOrTheirPlace) {
  const TemporaryFolder folder;
  const std::size_t second = kThree.find('\n') + 1;
  const std::size_t third = kThree.find('\n', second) + 1;
  const std::string one(kThree.substr(0, second)), two(kThree.substr(second, third - second));
  const auto complaint = [&](const std::string& text) {
    const std::string path = folder.write("metrics.jsonl", text);
    return message_of<DataError>([&] { read_records(path); }).substr(path.size());
  };
  EXPECT_EQ(complaint(one + two + two), ":3: epoch 1 comes after epoch 1");
  EXPECT_EQ(complaint(two + one), ":2: epoch 0 comes after epoch 1");
  EXPECT_EQ(complaint(one + "{\"epoch\":1}\n"),
            ":2: has no checksum, but a line before it has one");
}

TEST(MetricsLog, GoesOnWithAFileOfAnOlderVersion) {
  const TemporaryFolder folder;
  const std::string path = folder.write("metrics.jsonl", kOlder);
  MetricsLog log(path, 2);
  append_epochs(log, 2, 3);
  EXPECT_EQ(read_text(path),
            std::string(kOlder) + std::string(kThree.substr(kThree.find("{\"epoch\":2"))));
  EXPECT_EQ(read_records(path).size(), 3u);
}

TEST(MetricsLog, RefusesRecordsWithoutEpochAndFromEarlierEpochs) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "ledger.jsonl", 1);
  EXPECT_THROW(log.append(Json{{"loss", 1}}), ConfigError);
  EXPECT_THROW(log.append(Json{{"epoch", "1"}}), ConfigError);
  EXPECT_THROW(log.append(Json{{"epoch", 0}}), ConfigError);
  log.append(Json{{"epoch", 1}});
  EXPECT_THROW(log.append(Json{{"epoch", 1}}), ConfigError);
  log.append(Json{{"epoch", 3}});
  EXPECT_THROW(log.append(Json{{"epoch", 2}}), ConfigError);
  EXPECT_EQ(read_records(folder / "ledger.jsonl").size(), 2u);
}

TEST(MetricsLog, WritesNumbersThatJsonLacksAsNull) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl", 0);
  log.append(Json{{"epoch", 0}, {"loss", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_TRUE(read_text(folder / "metrics.jsonl").starts_with("{\"epoch\":0,\"loss\":null,"));
}

TEST(MetricsLog, SaysWhichFileItCannotWrite) {
  const TemporaryFolder folder;
  EXPECT_THROW(MetricsLog(folder / "missing/metrics.jsonl", 0), IoError);
}

}  // namespace
}  // namespace impart::run
