#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impart/core/ids.h"
#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// What to do about an example that cannot be read or decoded.
enum class OnBadExample {
  kFail,  ///< throw
  kSkip,  ///< put another example in its place, and say so
};

struct BatchReaderSpec {
  const PayloadDecoder* decoder = nullptr;  ///< must outlive the reader
  std::uint64_t row_bytes = 0;              ///< of one decoded example
  std::uint32_t threads = 1;        ///< that read and decode; 0: next() does it on its caller's
  std::uint32_t batches_ahead = 2;  ///< that may be decoded before next() asks for them

  /// Fills the payload of an example. May block; called by several threads at a time.
  std::function<void(ExampleId, WorkerId, std::vector<std::byte>&)> read;
  /// Whether the example can be read now; empty: always. Called by several threads at a time, now
  /// and then until it says yes. Cheap.
  std::function<bool(ExampleId, WorkerId)> ready = {};
  /// Where the example is stored, for messages (PayloadSource::describe); empty: its number.
  std::function<std::string(ExampleId)> describe = {};

  OnBadExample on_bad_example = OnBadExample::kFail;
  /// Gives `count` buffers of `bytes` each, which batches are decoded to in turn. Called by begin()
  /// when a batch is larger than any before; what it gave until then is not used any more. The
  /// memory is the caller's, and must outlive the reader. Empty: the reader has its own.
  using Room =
      std::function<std::vector<std::span<std::uint8_t>>(std::size_t count, std::size_t bytes)>;
  Room room = {};
};

/// A row of a batch: an example, and the worker that visits it.
struct BatchRow {
  ExampleId id{};
  WorkerId worker{};

  friend bool operator==(const BatchRow&, const BatchRow&) = default;
};

/// What to read: rows, cut into batches. Batch b is the rows from ends[b - 1] (0 for the first) up
/// to ends[b]. Batches may be empty.
struct BatchList {
  std::vector<BatchRow> rows = {};
  std::vector<std::size_t> ends = {};
  bool random_decode = false;  ///< decode with decode_choices(seed, epoch, id), else as evaluation
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

struct SkippedExample {
  ExampleId id{};
  std::string reason;  ///< begins with where the example is stored
};

/// One batch. The spans are valid until the reader is used again.
struct ReadBatch {
  std::span<const BatchRow> rows = {};
  std::span<std::uint8_t> decoded = {};  ///< rows.size() × row_bytes
  /// For each row 1 if it holds its own example, 0 if that was skipped. A skipped row is a copy of
  /// the nearest earlier good row of the same worker in this batch, else of the nearest later one,
  /// else zeros.
  std::span<const std::uint8_t> valid = {};
  std::vector<SkippedExample> skipped = {};
  double seconds_waited = 0;  ///< that next() took, nearly all of it waiting for the batch
  bool had_unready = false;   ///< some of its rows were not ready when the reader came to them
};

/// Reads and decodes examples on background threads before they are needed, and hands them out
/// batch by batch, in order. Rows of a batch are decoded in any order, rows that are not ready
/// later than others, but the result depends on neither that nor the number of threads.
///
/// Memory: (batches_ahead + 1) × the largest batch, of which one is the caller's, and one payload
/// per thread. Cost beyond reading and decoding, of images of 3 kB: about 30 ns a row without
/// threads; about 120 ns with them, as rows then leave the cache before they are used.
///
/// One thread at a time may use a reader.
class BatchReader {
 public:
  explicit BatchReader(BatchReaderSpec spec);
  /// Waits for the rows that are being read at this moment, and for no others.
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  /// Starts to read. What an earlier list has left is abandoned.
  void begin(BatchList list);

  /// The next batch. While it has to wait it calls `pump` about every millisecond, so that the
  /// caller can move on what others wait for, examples that are to become ready among them.
  ///
  /// What goes wrong with the batch is thrown here, that of the first such row, and the list is
  /// abandoned. With kFail that is the DataError of a bad example, its message beginning with where
  /// the example is stored; whatever is no DataError is thrown in either case. What `pump` throws
  /// passes through, and next() may be called again. Error after the last batch.
  ReadBatch next(const std::function<void()>& pump = {});

  /// Forgets the list. Returns when no row of it is being read any more.
  void abandon();

  /// Bytes that the reader holds now for decoded examples and payloads, its own and the caller's
  /// buffers.
  std::uint64_t memory_bytes() const;

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

}  // namespace impart::data
