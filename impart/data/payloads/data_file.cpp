#include "impart/data/payloads/data_file.h"

#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <zlib.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGzipSuffix = ".gz";

std::string find_file(const std::string& root, std::string_view name, std::string_view advice) {
  const fs::path plain = fs::path(root) / name;
  fs::path packed = plain;
  packed += kGzipSuffix;
  std::error_code ignored;
  if (fs::exists(plain, ignored)) return plain.string();
  if (fs::exists(packed, ignored)) return packed.string();
  throw DataError(
      fmt::format("{}: there is no such file (nor with .gz): {}", plain.string(), advice));
}

/// Ends zlib's inflation on every way out.
class Inflation {
 public:
  Inflation() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, in a gzip wrapper with its checksum
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw Error("zlib cannot start inflating");
  }
  ~Inflation() { inflateEnd(&stream); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  z_stream stream{};
};

std::vector<std::byte> unpack_gzip(const InputFile& file, MostBytes* most_bytes) {
  const std::span<const std::byte> packed = file.bytes();
  if (packed.size() > std::numeric_limits<uInt>::max()) {
    throw DataError(fmt::format("{}: over 4 GiB: unpack it first", file.path()));
  }
  Inflation inflation;
  z_stream& stream = inflation.stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<std::byte> contents;
  constexpr uInt kStep = 1u << 20;
  int status = Z_OK;
  std::uint64_t most = kStep;
  while (status == Z_OK) {
    const std::size_t filled = contents.size();
    contents.resize(filled + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(contents.data() + filled);
    stream.avail_out = kStep;
    status = inflate(&stream, Z_NO_FLUSH);
    contents.resize(filled + kStep - stream.avail_out);
    if (filled == 0) most = most_bytes(contents);
    if (contents.size() > most) {
      throw DataError(
          fmt::format("{}: unpacks to more than the {} bytes it can have", file.path(), most));
    }
  }
  const auto offset = packed.size() - stream.avail_in;
  if (status != Z_STREAM_END) {
    throw DataError(
        fmt::format("{}: byte {}: {}", file.path(), offset,
                    stream.avail_in == 0 ? "the gzip stream is truncated" : "damaged gzip stream"));
  }
  if (stream.avail_in != 0) {
    throw DataError(fmt::format("{}: byte {}: {} bytes left over after the gzip stream",
                                file.path(), offset, stream.avail_in));
  }
  return contents;
}

}  // namespace

std::uint64_t any_plausible_bytes(std::span<const std::byte>) {
  return std::uint64_t{1} << 30;
}

DataFile::DataFile(const std::string& root, std::string_view name, std::string_view advice,
                   MostBytes* most_bytes)
    : file_(find_file(root, name, advice)), unpacked_(file_.path().ends_with(kGzipSuffix)) {
  if (unpacked_) unpacked_bytes_ = unpack_gzip(file_, most_bytes);
}

}  // namespace impart::data
