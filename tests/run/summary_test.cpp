#include "impart/run/summary.h"

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

std::vector<std::string> names_in(const Json& json) {
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  return names;
}

TEST(Summary, HasItsMembersInTheirOrder) {
  const TemporaryFolder folder;
  write_summary(folder.path(), {.best_accuracy = 83.5,
                                .final_accuracy = 83.0,
                                .best_epoch = 7,
                                .epochs = 10,
                                .weights_sha256 = "ab",
                                .config_hash = "cd"});
  const Json json = Json::parse(read_text(folder / "summary.json"));
  EXPECT_EQ(names_in(json), (std::vector<std::string>{"best_accuracy",
                                                      "final_accuracy",
                                                      "best_epoch",
                                                      "epochs",
                                                      "diverged_at",
                                                      "stopped_at",
                                                      "examples",
                                                      "validation_examples",
                                                      "parameters",
                                                      "workers",
                                                      "processes",
                                                      "seed",
                                                      "seconds_start",
                                                      "seconds_total",
                                                      "seconds_train",
                                                      "seconds_tracking",
                                                      "seconds_partition",
                                                      "seconds_exchange",
                                                      "seconds_exchange_hidden",
                                                      "seconds_importance_pass",
                                                      "seconds_refresh",
                                                      "seconds_dissimilarity",
                                                      "seconds_eval",
                                                      "seconds_checkpoint",
                                                      "seconds_data_wait",
                                                      "seconds_other",
                                                      "load_average",
                                                      "visits",
                                                      "visits_hidden",
                                                      "visits_refreshed",
                                                      "visits_max_over_mean",
                                                      "bytes_saved",
                                                      "examples_moved",
                                                      "bytes_disk",
                                                      "bytes_source",
                                                      "requests_source",
                                                      "bytes_peers",
                                                      "cache_hits",
                                                      "cache_hits_disk",
                                                      "cache_hits_peers",
                                                      "cache_misses",
                                                      "bytes_network",
                                                      "bytes_statistics",
                                                      "bytes_weights",
                                                      "messages",
                                                      "peak_stored_examples",
                                                      "weights_sha256",
                                                      "config_hash",
                                                      "largest_part",
                                                      "payload_bytes_total"}));
  EXPECT_EQ(json["best_accuracy"], 83.5);
  EXPECT_EQ(json["best_epoch"], 7);
  EXPECT_TRUE(json["diverged_at"].is_null());
}

TEST(Summary, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kSeed = (1ull << 63) + 1;
  write_summary(folder.path(),
                {.best_perplexity = 21.5, .seed = kSeed, .messages = 6, .config_hash = "cd"});
  const SummaryFile found = read_summary(folder.path());
  EXPECT_EQ(found.number("best_perplexity"), 21.5);
  EXPECT_EQ(found.number("messages"), 6);
  EXPECT_EQ(found.number("best_accuracy"), std::nullopt);
  EXPECT_EQ(found.number("config_hash"), std::nullopt);
  EXPECT_EQ(found.config_hash, "cd");
  EXPECT_EQ(found.seed, kSeed);
}

TEST(Summary, OfOtherVersionsIsReadAsFarAsItGoes) {
  const TemporaryFolder folder;
  folder.write("summary.json", R"({"seed": -1, "config_hash": 3, "later": 2.5, "texts": "a"})");
  const SummaryFile found = read_summary(folder.path());
  EXPECT_EQ(found.number("later"), 2.5);
  EXPECT_EQ(found.seed, std::nullopt);
  EXPECT_EQ(found.config_hash, "");
}

TEST(Summary, SaysWhichFileIsBroken) {
  const TemporaryFolder folder;
  const std::string path = folder / "summary.json";
  EXPECT_NE(message_of<DataError>([&] { read_summary(folder.path()); }).find(path),
            std::string::npos);
  const auto complaint = [&](const char* text) {
    folder.write("summary.json", text);
    return message_of<DataError>([&] { read_summary(folder.path()); });
  };
  EXPECT_EQ(complaint("{"), path + ": offset 2: is not JSON");
  EXPECT_EQ(complaint(""), path + ": offset 1: is not JSON");
  EXPECT_EQ(complaint("[1]"), path + ": not a JSON object");
}

}  // namespace
}  // namespace impart::run
