#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "impart/core/ids.h"
#include "impart/store/extents.h"
#include "impart/store/positioned_file.h"

namespace impart::store {

/// The journal of a shelf in a directory: which payloads lie where in the data file, as a list of
/// checksummed records that only grows; docs/formats.md has its bytes. Whatever ends the process, a
/// prefix of the records is left; a torn one at the end is cut off when the journal is opened.
class ShelfJournal {
 public:
  static constexpr std::uint64_t kRecordBytes = 48;

  enum class Kind : std::uint64_t {
    kHave = 1,    ///< the payload of `id` lies at `extent` and has this hash
    kGone = 2,    ///< the payload of `id` is given up
    kClosed = 3,  ///< as the last record: the shelf was closed in order
    kOpened = 4   ///< it was opened again, so that whatever comes may end without order
  };
  struct Record {
    Kind kind = Kind::kHave;
    ExampleId id{};
    Extent extent;
    std::uint64_t hash = 0;
  };

  struct Spec {
    std::string path;
    std::string data_id;
    std::uint64_t examples = 0;
    bool read_only = false;  ///< a torn record at the end stays: another process may be writing it
  };
  /// What the header of a journal says; errors as below.
  static Spec read_spec(const std::string& path);
  /// Opens the journal, or makes an empty one, and visits its records in order. ConfigError if it
  /// belongs to another data set or is no journal, DataError if its header is damaged.
  ShelfJournal(const Spec& spec, const std::function<void(const Record&)>& visit);

  /// Whether it ended in order, with kClosed, and nothing had to be cut off.
  bool was_closed() const { return was_closed_; }
  /// Records in the file and in the buffer.
  std::uint64_t records() const { return records_; }

  /// Takes a record into the buffer.
  void append(const Record& record);
  /// Hands the buffer to the operating system: it outlives the process.
  void flush();
  /// Flushes, and returns when the disk has it all.
  void sync();
  /// Replaces the journal, all at once, by one with these records.
  void rewrite(std::span<const Record> records);

  std::uint64_t bytes_read() const { return earlier_read_ + file_.bytes_read(); }
  std::uint64_t bytes_written() const { return earlier_written_ + file_.bytes_written(); }

 private:
  PositionedFile open_or_create();
  void check_header();
  void replay(const std::function<void(const Record&)>& visit);
  PositionedFile write_anew(std::span<const Record> records);
  std::uint64_t header_bytes() const;

  Spec spec_;
  std::uint64_t earlier_read_ = 0, earlier_written_ = 0;  ///< of files that were replaced
  PositionedFile file_;
  std::uint64_t records_ = 0;
  std::uint64_t flushed_ = 0;  ///< records that are in the file
  std::vector<std::byte> buffer_;
  bool was_closed_ = false;
};

}  // namespace impart::store
