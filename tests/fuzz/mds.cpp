// MDS shards: the index, shards as they are and compressed, arrays in them.

#include <algorithm>
#include <cstring>
#include <limits>

#include "impart/data/mds/array.h"
#include "impart/data/mds/columns.h"
#include "impart/data/mds/dataset.h"
#include "impart/data/mds/source.h"
#include "impart/data/mds/verify.h"
#include "impart/data/mds/writer.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {
namespace {

using namespace data;

constexpr const char* kRaw = "shard.00000.mds";
constexpr const char* kZip = "shard.00000.mds.zstd";

MdsConfig config_with(std::string compression = {}) {
  return {.columns = {make_mds_column("image", "ndarray"), make_mds_column("label", "int")},
          .compression = std::move(compression)};
}

/// Writes a sound set of three images of 2 × 2.
void write_set(const Folder& folder, const std::string& compression = {}) {
  MdsWriter writer(folder.path(), config_with(compression));
  for (std::int64_t label = 0; label < 3; ++label) {
    // An array of uint8 with two extents of one byte.
    const std::string image = std::string("\x08\x08\x02\x02", 4) + "abcd";
    const std::span<const std::byte> values[] = {std::as_bytes(std::span(image)),
                                                 std::as_bytes(std::span(&label, 1))};
    writer.add(values);
  }
  writer.finish();
}

void open_all(const Folder& folder) {
  const ExampleSet set = open_mds_set({.folder = folder.path()});
  std::vector<std::uint8_t> pixels(set.image_bytes());
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(set.payloads->examples(), 4); ++i) {
    std::vector<std::byte> payload(set.payloads->payload_bytes(ExampleId{i}));
    set.payloads->read(ExampleId{i}, payload);
    set.decoder->decode(payload, {}, pixels);
  }
}

}  // namespace

void read_mds_index_file(Bytes input) {
  static const Folder folder;
  folder.write("index.json", input);
  read_mds_index(folder.path());
}

std::vector<std::string> mds_index_seeds() {
  const Folder raw, zipped;
  write_set(raw);
  write_set(zipped, "zstd");
  return {raw.read("index.json"), zipped.read("index.json")};
}

void read_mds_shard(Bytes input) {
  static const Folder folder;
  std::uint32_t samples = 0;
  if (!input.empty()) {
    std::memcpy(&samples, input.data(), std::min(input.size(), sizeof samples));
  }
  const std::vector<MdsShard> shards = {
      {.samples = samples, .raw = {.name = kRaw, .bytes = input.size()}}};
  folder.write("index.json", mds_index_text(config_with(), shards));
  folder.write(kRaw, input);
  open_all(folder);
}

std::vector<std::string> mds_shard_seeds() {
  const Folder folder;
  write_set(folder);
  return {folder.read(kRaw)};
}

void read_mds_zip(Bytes input) {
  static const Folder folder;
  static const std::uint64_t raw_bytes = mds_shard_seeds().front().size();
  const std::vector<MdsShard> shards = {{.samples = 3,
                                         .raw = {.name = kRaw, .bytes = raw_bytes},
                                         .zip = MdsFile{.name = kZip, .bytes = input.size()}}};
  folder.write("index.json", mds_index_text(config_with("zstd"), shards));
  folder.write(kZip, input);
  open_all(folder);
}

std::vector<std::string> mds_zip_seeds() {
  const Folder folder;
  write_set(folder, "zstd");
  return {folder.read(kZip)};
}

/// Up to a line end the encoding, then the value.
void read_mds_array(Bytes input) {
  const std::string_view text = text_of(input);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const MdsArrayEncoding encoding = parse_mds_array_encoding(text.substr(0, end));
  const MdsArray array = view_mds_array(encoding, input.subspan(std::min(end + 1, input.size())));
  mds_image_layout(array.type, array.shape);
}

std::vector<std::string> mds_array_seeds() {
  return {"ndarray:uint8:1,2,2\nabcd", "ndarray:uint16\n" + std::string("\x04\x02") + "abcd",
          "ndarray\n" + std::string("\x08\x08\x02\x02", 4) + "abcd"};
}

}  // namespace impart::fuzz
