#include "impart/data/payloads/file_ranges.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/data/payloads/open_files.h"

namespace impart::data {
namespace {

class FileRangeSource final : public PayloadSource {
 public:
  explicit FileRangeSource(FileRangesSpec spec)
      : files_(std::move(spec.files)),
        ranges_(std::move(spec.ranges)),
        are_whole_files_(spec.are_whole_files),
        open_(spec.open_files) {
    for (const FileRange& range : ranges_) {
      if (range.file >= files_.size()) throw Error("make_file_range_source: no such file");
    }
  }

  std::uint64_t examples() const override { return ranges_.size(); }
  std::uint64_t payload_bytes(ExampleId id) const override { return range_of(id).bytes; }

  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    const FileRange& range = range_of(id);
    if (payload.size() != range.bytes) {
      throw Error(fmt::format("example {}: {} bytes to fill instead of {}", index(id),
                              payload.size(), range.bytes));
    }
    const auto file = open_.get(range.file, [&] { return files_.path(range.file); });
    std::size_t filled = 0;
    while (filled < payload.size()) {
      const ssize_t got =
          ::pread(file->descriptor(), payload.data() + filled, payload.size() - filled,
                  static_cast<off_t>(range.offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail(range, filled, got == 0 ? 0 : errno);
      filled += static_cast<std::size_t>(got);
    }
    return filled;
  }

  std::string describe(ExampleId id) const override {
    const FileRange& range = range_of(id);
    if (are_whole_files_) return files_.path(range.file);
    return fmt::format("{}, byte {}", files_.path(range.file), range.offset);
  }

 private:
  const FileRange& range_of(ExampleId id) const {
    if (index(id) >= ranges_.size()) {
      throw Error(fmt::format("example {} is not one of {}", index(id), ranges_.size()));
    }
    return ranges_[index(id)];
  }

  [[noreturn]] void fail(const FileRange& range, std::size_t filled, int reason) const {
    const std::string path = files_.path(range.file);
    const std::uint64_t at = range.offset + filled;
    if (reason != 0) {
      throw DataError(fmt::format("{}: byte {}: cannot read: {}", path, at, std::strerror(reason)));
    }
    throw DataError(fmt::format("{}: byte {}: the file has ended, {} of {} bytes are missing", path,
                                at, range.bytes - filled, range.bytes));
  }

  FileNames files_;
  std::vector<FileRange> ranges_;
  bool are_whole_files_;
  mutable OpenFiles open_;
};

}  // namespace

std::shared_ptr<const PayloadSource> make_file_range_source(FileRangesSpec spec) {
  return std::make_shared<FileRangeSource>(std::move(spec));
}

}  // namespace impart::data
