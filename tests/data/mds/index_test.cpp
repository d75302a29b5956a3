#include "impart/data/mds/index.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "tests/data/mds/shards.h"

namespace impart::data {
namespace {

using nlohmann::json;
using testing::contains;
using testing::message_of;
using testing::TemporaryFolder;

/// The index of a sound folder.
json sound_index() {
  const TemporaryFolder folder;
  testing::write_shards(folder.path(), {.compression = "zstd"});
  return json::parse(testing::read_text(folder / "index.json"));
}

std::string complaint(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.write("index.json", text);
  const std::string message = message_of<DataError>([&] { read_mds_index(folder.path()); });
  EXPECT_TRUE(message.starts_with(path + ": not a usable index of MDS shards: ")) << message;
  return message;
}

TEST(MdsIndex, ReadsWhatTheWriterWrote) {
  const TemporaryFolder folder;
  testing::write_shards(folder.path(), {.compression = "zstd:5", .hashes = {"sha1", "md5"}});
  const MdsIndex index = read_mds_index(folder.path());
  EXPECT_EQ(index.samples(), 50u);
  EXPECT_GT(index.shards.size(), 2u);
  EXPECT_EQ(index.columns[0].encoding, "bytes");
  EXPECT_EQ(index.columns[1].fixed_bytes, 8u);
  EXPECT_EQ(index.shards[0].compression, "zstd:5");
  EXPECT_EQ(index.shards[0].zip->name, "shard.00000.mds.zstd");
  EXPECT_EQ(index.shards[0].zip->hashes.at("sha1").size(), 40u);
  EXPECT_EQ(index.shards[0].raw.hashes.at("md5").size(), 32u);
}

TEST(MdsIndex, RefusesWhatIsNoIndex) {
  complaint("");
  complaint("{");
  complaint("[]");
  complaint("{\"version\": 2}");
  complaint("{\"version\": 2, \"shards\": 3}");
  EXPECT_TRUE(contains(complaint("{\"version\": 2, \"shards\": []}"), "no shards"));
  EXPECT_TRUE(contains(complaint("{\"version\": 3, \"shards\": []}"), "version 3, not 2"));
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(message_of<DataError>([&] { read_mds_index(folder.path()); }),
                       folder / "index.json: cannot open"));
}

TEST(MdsIndex, SaysWhatIsWrongWithAShard) {
  const json sound = sound_index();
  const auto complain = [&](const std::string& pointer, const json& value) {
    json broken = sound;
    broken[json::json_pointer("/shards/1" + pointer)] = value;
    const std::string message = complaint(broken.dump());
    return message;
  };
  EXPECT_TRUE(contains(complain("/format", "csv"), "shard 1: format \"csv\""));
  EXPECT_TRUE(contains(complain("/version", 1), "version 1"));
  EXPECT_TRUE(contains(complain("/samples", 1000000), "shard 1: 1000000 samples in"));
  EXPECT_TRUE(contains(complain("/samples", 18446744073709551615ull), "cannot be"));
  EXPECT_TRUE(contains(complain("/raw_data/bytes", 3), "samples in 3 bytes"));
  EXPECT_TRUE(contains(complain("/raw_data/bytes", 1ull << 33), "cannot be"));
  EXPECT_TRUE(contains(complain("/raw_data/basename", "../../etc/passwd"), "leads out"));
  EXPECT_TRUE(contains(complain("/raw_data/basename", "/etc/passwd"), "leads out"));
  EXPECT_TRUE(contains(complain("/column_names", {"image"}), "1 column names, 2 encodings"));
  EXPECT_TRUE(contains(complain("/column_sizes", {nullptr, 4}), "values of 4 bytes"));
  EXPECT_TRUE(contains(complain("/column_names", {"image", "class"}), "other columns"));
  complain("/samples", -1);
  complain("/samples", "many");
  complain("/raw_data", nullptr);
}

TEST(MdsIndex, RefusesADepthThatWouldOverflowTheStack) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_TRUE(contains(complaint("{\"version\": " + deep + ", \"shards\": []}"), "nested deeper"));
  EXPECT_LT(complaint("{\"version\": \"" + std::string(1 << 20, 'x') + "\"}").size(), 500u);
}

TEST(MdsIndex, AllowsFilesInSubfolders) {
  const TemporaryFolder folder;
  json index = sound_index();
  index["shards"][0]["raw_data"]["basename"] = "part..0/shard.00000.mds";
  folder.write("index.json", index.dump());
  EXPECT_EQ(read_mds_index(folder.path()).shards[0].raw.name, "part..0/shard.00000.mds");
}

TEST(MdsIndex, WritesTextAsPythonDoes) {
  const MdsConfig config{.columns = {make_mds_column("ä\"", "jpeg"), make_mds_column("n", "int")},
                         .hashes = {"xxh64"},
                         .shard_bytes = 100};
  EXPECT_EQ(mds_shard_text(config),
            R"({"column_encodings": ["jpeg", "int"], "column_names": ["\u00e4\"", "n"], )"
            R"("column_sizes": [null, 8], "compression": null, "format": "mds", )"
            R"("hashes": ["xxh64"], "size_limit": 100, "version": 2})");
}

}  // namespace
}  // namespace impart::data
