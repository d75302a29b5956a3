#include "impart/data/mds/shard.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "impart/core/error.h"
#include "impart/data/mds/hashes.h"

namespace impart::data {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

std::uint32_t number_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

void check_size(int descriptor, const MdsShardFile& file) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    throw DataError(fmt::format("{}: cannot read: {}", file.path, std::strerror(errno)));
  }
  const auto found = static_cast<std::uint64_t>(status.st_size);
  if (found == file.entry->bytes) return;
  throw DataError(fmt::format("{}: has {} bytes, but index.json says {}{}", file.path, found,
                              file.entry->bytes, found < file.entry->bytes ? ": truncated" : ""));
}

/// Blank images and the like shrink well, but files that hold a thousand times their size, and more
/// than a shard usually has, are made to fill memory.
void check_expansion(const MdsShardFile& file, const MdsShard& shard) {
  constexpr std::uint64_t kUsualBytes = std::uint64_t{256} << 20, kMostExpansion = 1000;
  if (shard.raw.bytes <= std::max(kUsualBytes, kMostExpansion * file.entry->bytes)) return;
  throw DataError(fmt::format("{}: {} bytes cannot hold the {} bytes that index.json tells of",
                              file.path, file.entry->bytes, shard.raw.bytes));
}

}  // namespace

MdsOffsets parse_mds_offsets(std::span<const std::byte> head, const MdsShard& shard,
                             std::uint64_t least_sample, const MdsComplaint& complain) {
  const std::uint64_t head_bytes = mds_head_bytes(shard.samples);
  if (const std::uint32_t samples = number_at(head, 0); samples != shard.samples) {
    complain(0,
             fmt::format("says it has {} samples, but index.json says {}", samples, shard.samples));
    return {};
  }
  MdsOffsets offsets(shard.samples + 1);
  std::memcpy(offsets.data(), head.data() + 4, 4 * offsets.size());
  if (offsets.front() < head_bytes) {
    complain(4, fmt::format("its first sample starts at byte {}, within the {} bytes of the head",
                            offsets.front(), head_bytes));
  }
  for (std::uint64_t i = 0; i < shard.samples; ++i) {
    if (offsets[i + 1] >= offsets[i] && offsets[i + 1] - offsets[i] >= least_sample) continue;
    complain(8 + 4 * i, fmt::format("sample {} goes from byte {} to {}, but has at least {} bytes",
                                    i, offsets[i], offsets[i + 1], least_sample));
  }
  if (offsets.back() != shard.raw.bytes) {
    complain(4 + 4 * shard.samples, fmt::format("its last sample ends at byte {}, but it has {}",
                                                offsets.back(), shard.raw.bytes));
  }
  return offsets;
}

MdsOffsets check_mds_offsets(std::span<const std::byte> head, const MdsIndex& index,
                             std::size_t shard) {
  const MdsShard& entry = index.shards[shard];
  return parse_mds_offsets(head, entry, least_mds_sample(index.columns),
                           [&](std::uint64_t offset, const std::string& what) {
                             throw DataError(fmt::format("{}/{}: byte {}: {}", index.folder,
                                                         entry.raw.name, offset, what));
                           });
}

MdsShardFile find_mds_file(const std::string& folder, const MdsShard& shard) {
  const std::string raw = folder + '/' + shard.raw.name;
  std::error_code ignored;
  if (!shard.zip || std::filesystem::exists(raw, ignored)) return {raw, &shard.raw, false};
  std::string zip = folder + '/' + shard.zip->name;
  check_mds_compression(zip, shard);
  return {std::move(zip), &*shard.zip, true};
}

void check_mds_compression(const std::string& path, const MdsShard& shard) {
  if (shard.compression == "zstd" || shard.compression.starts_with("zstd:")) return;
  throw DataError(
      fmt::format("{}: compressed by '{}'; only zstd can be read here", path, shard.compression));
}

std::vector<std::byte> unzip_mds_shard(const std::string& path, const MdsShard& shard,
                                       std::span<const std::byte> zipped, std::uint64_t wanted) {
  check_expansion({path, &*shard.zip, true}, shard);
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  std::vector<std::byte> bytes(wanted);
  ZSTD_inBuffer input{zipped.data(), zipped.size(), 0};
  ZSTD_outBuffer output{bytes.data(), bytes.size(), 0};
  while (output.pos < output.size) {
    const std::size_t before = output.pos + input.pos;
    const std::size_t status = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(status) != 0 || output.pos + input.pos == before) {
      throw DataError(
          fmt::format("{}: byte {}: damaged zstd data: {}", path, input.pos,
                      ZSTD_isError(status) != 0 ? ZSTD_getErrorName(status) : "it ends too early"));
    }
  }
  return bytes;
}

/// What was read of a compressed file and is still to be uncompressed.
struct MdsShardStream::Unzip {
  Unzip() : context(ZSTD_createDStream()), block(kBlockBytes) {}
  ~Unzip() { ZSTD_freeDStream(context); }
  Unzip(const Unzip&) = delete;
  Unzip& operator=(const Unzip&) = delete;

  ZSTD_DStream* context;
  std::vector<std::byte> block;
  ZSTD_inBuffer input{};
};

MdsShardStream::MdsShardStream(const std::string& folder, const MdsShard& shard)
    : file_(find_mds_file(folder, shard)), opened_(file_.path) {
  check_size(opened_.descriptor(), file_);
  if (file_.zipped) check_expansion(file_, shard);
  ::posix_fadvise(opened_.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  if (file_.zipped) unzip_ = std::make_unique<Unzip>();
}

MdsShardStream::~MdsShardStream() = default;

std::size_t MdsShardStream::read_file(std::span<std::byte> into) {
  ssize_t got = 0;
  do {
    got = ::read(opened_.descriptor(), into.data(), into.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    throw DataError(fmt::format("{}: byte {}: cannot read: {}", path(), bytes_from_disk_,
                                std::strerror(errno)));
  }
  bytes_from_disk_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

std::size_t MdsShardStream::read_some(std::span<std::byte> into) {
  if (!unzip_) return read_file(into);
  ZSTD_outBuffer output{into.data(), into.size(), 0};
  while (output.pos == 0) {
    ZSTD_inBuffer& input = unzip_->input;
    if (input.pos == input.size) {
      input = {unzip_->block.data(), read_file(unzip_->block), 0};
      if (input.size == 0) return 0;
    }
    const std::size_t status = ZSTD_decompressStream(unzip_->context, &output, &input);
    if (ZSTD_isError(status) != 0) {
      throw DataError(fmt::format("{}: byte {}: damaged zstd data: {}", path(),
                                  bytes_from_disk_ - input.size + input.pos,
                                  ZSTD_getErrorName(status)));
    }
  }
  return output.pos;
}

void MdsShardStream::read(std::span<std::byte> into) {
  while (!into.empty()) {
    const std::size_t got = read_some(into);
    if (got == 0) {
      throw DataError(fmt::format("{}: ends at byte {}{}, {} bytes too early: truncated", path(),
                                  offset_, file_.zipped ? " of its uncompressed contents" : "",
                                  into.size()));
    }
    offset_ += got;
    into = into.subspan(got);
  }
}

void MdsShardStream::expect_end() {
  std::byte more{};
  if (read_some({&more, 1}) == 0) return;
  throw DataError(
      fmt::format("{}: goes on after byte {}, where index.json says it ends", path(), offset_));
}

std::vector<std::byte> load_mds_shard(const std::string& folder, const MdsShard& shard,
                                      std::uint64_t& bytes_from_disk) {
  MdsShardStream stream(folder, shard);
  std::vector<std::byte> bytes(shard.raw.bytes);
  stream.read(bytes);
  stream.expect_end();
  bytes_from_disk += stream.bytes_from_disk();
  return bytes;
}

void check_mds_hashes(const std::string& path, const MdsFile& entry,
                      std::span<const std::byte> bytes, bool fast_only) {
  for (const MdsHashEntry& hash : kMdsHashes) {
    const auto listed = entry.hashes.find(std::string(hash.name));
    if (listed == entry.hashes.end() || (fast_only && !hash.fast)) continue;
    const std::string found = hash.function(bytes);
    if (found == listed->second) continue;
    throw DataError(fmt::format("{}: its {} is {}, but index.json says {}: damaged", path,
                                hash.name, found, listed->second));
  }
}

}  // namespace impart::data
