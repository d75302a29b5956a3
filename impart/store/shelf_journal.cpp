#include "impart/store/shelf_journal.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::store {
namespace {

static_assert(std::endian::native == std::endian::little, "the journal is little-endian");

constexpr char kMagic[9] = "IMPSHELF";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kFixedHeaderBytes = 24;  ///< what comes before the data set's name
constexpr std::uint64_t kHashBytes = 8;
constexpr std::uint64_t kRecordsAtOnce = 21'845;  ///< 1 MiB

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t data_id_bytes;
  std::uint64_t examples;
};
static_assert(sizeof(Header) == kFixedHeaderBytes);

struct StoredRecord {
  std::uint64_t kind, id, offset, size, hash;
  std::uint64_t check;  ///< xxh3-64 of the five before, seeded with the record's place in the file
};
static_assert(sizeof(StoredRecord) == ShelfJournal::kRecordBytes);

std::uint64_t check_of(const StoredRecord& record, std::uint64_t place) {
  return XXH3_64bits_withSeed(&record, offsetof(StoredRecord, check), place);
}

StoredRecord encode(const ShelfJournal::Record& record, std::uint64_t place) {
  StoredRecord stored{static_cast<std::uint64_t>(record.kind),
                      index(record.id),
                      record.extent.offset,
                      record.extent.size,
                      record.hash,
                      0};
  stored.check = check_of(stored, place);
  return stored;
}

void append_bytes(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

ShelfJournal::Spec read_header(const PositionedFile& file) {
  Header header{};
  const auto fixed = std::as_writable_bytes(std::span(&header, 1));
  const bool whole = file.read(0, fixed) == fixed.size();
  if (!whole || std::memcmp(header.magic, kMagic, sizeof(header.magic)) != 0) {
    throw ConfigError(
        fmt::format("{}: is no journal of a store; choose another folder", file.path()));
  }
  if (header.version != kVersion) {
    throw ConfigError(fmt::format("{}: offset 8: has format {}, this program reads format {}",
                                  file.path(), header.version, kVersion));
  }
  const std::uint64_t said = kFixedHeaderBytes + header.data_id_bytes + kHashBytes;
  std::vector<std::byte> all(std::min(said, file.size()));
  file.read(0, all);
  const std::size_t hashed = all.size() - kHashBytes;
  std::uint64_t expected = 0;
  std::memcpy(&expected, all.data() + hashed, kHashBytes);
  const bool cut = hashed != kFixedHeaderBytes + header.data_id_bytes;
  if (cut || XXH3_64bits(all.data(), hashed) != expected) {
    throw DataError(fmt::format(
        "{}: offset {}: the header is damaged; without the folder all is read from the data set",
        file.path(), hashed));
  }
  return {.path = file.path(),
          .data_id = {reinterpret_cast<const char*>(all.data()) + kFixedHeaderBytes,
                      header.data_id_bytes},
          .examples = header.examples};
}

}  // namespace

ShelfJournal::ShelfJournal(const Spec& spec, const std::function<void(const Record&)>& visit)
    : spec_(spec), file_(open_or_create()) {
  check_header();
  replay(visit);
}

PositionedFile ShelfJournal::open_or_create() {
  if (!std::filesystem::exists(spec_.path)) return write_anew({});
  return {spec_.path, PositionedFile::Mode::kOpen};
}

std::uint64_t ShelfJournal::header_bytes() const {
  return kFixedHeaderBytes + spec_.data_id.size() + kHashBytes;
}

ShelfJournal::Spec ShelfJournal::read_spec(const std::string& path) {
  return read_header(PositionedFile(path, PositionedFile::Mode::kOpen));
}

void ShelfJournal::check_header() {
  const Spec found = read_header(file_);
  if (found.data_id == spec_.data_id && found.examples == spec_.examples) return;
  throw ConfigError(
      fmt::format("{}: holds examples of another data set: '{}' of {}, not '{}' of {}", spec_.path,
                  found.data_id, found.examples, spec_.data_id, spec_.examples));
}

void ShelfJournal::replay(const std::function<void(const Record&)>& visit) {
  std::vector<StoredRecord> chunk(kRecordsAtOnce);
  while (true) {
    const std::uint64_t place = header_bytes() + records_ * kRecordBytes;
    const std::size_t got = file_.read(place, std::as_writable_bytes(std::span(chunk)));
    std::size_t good = 0;
    for (; good < got / kRecordBytes; ++good) {
      const StoredRecord& stored = chunk[good];
      if (stored.check != check_of(stored, place + good * kRecordBytes)) break;
      const Record record{static_cast<Kind>(stored.kind),
                          ExampleId{stored.id},
                          {stored.offset, stored.size},
                          stored.hash};
      was_closed_ = record.kind == Kind::kClosed;
      visit(record);
    }
    records_ += good;
    if (good == kRecordsAtOnce) continue;
    flushed_ = records_;
    if (got == good * kRecordBytes) return;
    was_closed_ = false;
    if (spec_.read_only) return;
    return file_.truncate(place + good * kRecordBytes);
  }
}

void ShelfJournal::append(const Record& record) {
  const StoredRecord stored = encode(record, header_bytes() + records_ * kRecordBytes);
  append_bytes(buffer_, &stored, sizeof(stored));
  ++records_;
}

void ShelfJournal::flush() {
  file_.write(header_bytes() + flushed_ * kRecordBytes, buffer_);
  buffer_.clear();
  flushed_ = records_;
}

void ShelfJournal::sync() {
  flush();
  file_.sync();
}

void ShelfJournal::rewrite(std::span<const Record> records) {
  PositionedFile file = write_anew(records);
  earlier_read_ += file_.bytes_read();
  earlier_written_ += file_.bytes_written();
  file_ = std::move(file);
  buffer_.clear();
  records_ = flushed_ = records.size();
}

PositionedFile ShelfJournal::write_anew(std::span<const Record> records) {
  Header header{.magic = {},
                .version = kVersion,
                .data_id_bytes = static_cast<std::uint32_t>(spec_.data_id.size()),
                .examples = spec_.examples};
  std::memcpy(header.magic, kMagic, sizeof(header.magic));
  std::vector<std::byte> bytes;
  append_bytes(bytes, &header, sizeof(header));
  append_bytes(bytes, spec_.data_id.data(), spec_.data_id.size());
  const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  append_bytes(bytes, &hash, sizeof(hash));
  for (const Record& record : records) {
    const StoredRecord stored = encode(record, bytes.size());
    append_bytes(bytes, &stored, sizeof(stored));
  }
  PositionedFile file(spec_.path + ".new", PositionedFile::Mode::kCreateAnew);
  file.write(0, bytes);
  file.sync();
  file.rename(spec_.path);
  sync_folder(std::filesystem::path(spec_.path).parent_path().string());
  return file;
}

}  // namespace impart::store
