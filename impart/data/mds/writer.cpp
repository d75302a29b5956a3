#include "impart/data/mds/writer.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <zstd.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/mds/hashes.h"
#include "impart/data/mds/shard.h"

namespace impart::data {
namespace {

std::vector<std::byte> compress(std::span<const std::byte> bytes, int level) {
  std::vector<std::byte> zipped(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(zipped.data(), zipped.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size) != 0) throw Error(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  zipped.resize(size);
  return zipped;
}

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

int parse_mds_compression(std::string_view compression) {
  constexpr std::string_view kName = "zstd";
  constexpr int kDefaultLevel = 3;
  if (compression == kName) return kDefaultLevel;
  int level = 0;
  if (compression.starts_with("zstd:")) {
    const char* const end = compression.data() + compression.size();
    const auto [at, error] = std::from_chars(compression.data() + kName.size() + 1, end, level);
    if (error != std::errc{} || at != end) level = 0;
  }
  if (level >= 1 && level <= ZSTD_maxCLevel()) return level;
  throw ConfigError(fmt::format("unknown compression '{}': zstd, or zstd:LEVEL with a level 1..{}",
                                compression, ZSTD_maxCLevel()));
}

MdsWriter::MdsWriter(std::string folder, MdsConfig config)
    : folder_(std::move(folder)), config_(std::move(config)) {
  if (!config_.compression.empty()) level_ = parse_mds_compression(config_.compression);
  for (const std::string& hash : config_.hashes) find_entry(kMdsHashes, "hash", hash);
  std::sort(config_.hashes.begin(), config_.hashes.end());
  const auto repeated = std::unique(config_.hashes.begin(), config_.hashes.end());
  config_.hashes.erase(repeated, config_.hashes.end());
  if (config_.shard_bytes == 0 || config_.shard_bytes > kMostShardBytes) {
    throw ConfigError(fmt::format("shards of {} bytes: they can have 1 to {}", config_.shard_bytes,
                                  kMostShardBytes));
  }
  shard_text_ = mds_shard_text(config_);
}

void MdsWriter::add(std::span<const std::span<const std::byte>> values) {
  add_sample(join_mds_values(config_.columns, values));
}

void MdsWriter::add_sample(std::span<const std::byte> sample) {
  const auto size_with = [&](std::uint64_t samples) {
    return mds_head_bytes(samples) + shard_text_.size() + data_.size() + sample.size();
  };
  if (!ends_.empty() && size_with(ends_.size() + 1) > config_.shard_bytes) write_shard();
  if (size_with(1) > kMostShardBytes) {
    throw ConfigError(
        fmt::format("sample {} has {} bytes, over what a shard can hold", samples_, sample.size()));
  }
  append(data_, sample);
  ends_.push_back(static_cast<std::uint32_t>(data_.size()));
  ++samples_;
}

void MdsWriter::write_shard() {
  const auto head = static_cast<std::uint32_t>(mds_head_bytes(ends_.size()) + shard_text_.size());
  std::vector<std::uint32_t> numbers = {static_cast<std::uint32_t>(ends_.size()), head};
  for (const std::uint32_t end : ends_) numbers.push_back(head + end);
  std::vector<std::byte> bytes;
  bytes.reserve(head + data_.size());
  append(bytes, std::as_bytes(std::span(numbers)));
  append(bytes, std::as_bytes(std::span(shard_text_)));
  append(bytes, data_);

  const std::string name = fmt::format("shard.{:05}.mds", shards_.size());
  MdsShard shard{.samples = ends_.size(), .raw = describe(name, bytes)};
  if (level_ == 0) {
    write_file(name, bytes);
  } else {
    const std::vector<std::byte> zipped = compress(bytes, level_);
    shard.zip = describe(name + ".zstd", zipped);
    shard.compression = config_.compression;
    write_file(shard.zip->name, zipped);
  }
  shards_.push_back(std::move(shard));
  data_.clear();
  ends_.clear();
}

void MdsWriter::finish() {
  if (!ends_.empty()) write_shard();
  const std::string text = mds_index_text(config_, shards_);
  write_file("index.json", std::as_bytes(std::span(text)));
}

MdsFile MdsWriter::describe(std::string name, std::span<const std::byte> bytes) const {
  MdsFile file{.name = std::move(name), .bytes = bytes.size()};
  for (const std::string& hash : config_.hashes) {
    file.hashes[hash] = find_entry(kMdsHashes, "hash", hash).function(bytes);
  }
  return file;
}

void MdsWriter::write_file(const std::string& name, std::span<const std::byte> bytes) const {
  impart::write_file(folder_ + '/' + name, bytes);
}

}  // namespace impart::data
