#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "impart/core/ids.h"

namespace impart::data {

class ReadAhead;

/// A payload to be read, and where to.
struct PayloadWish {
  ExampleId id;
  std::span<std::byte> payload;  ///< has payload_bytes(id) bytes
};

/// The examples of a data set as the bytes they are stored as: a JPEG is a JPEG, an image of CIFAR
/// its 3072 pixel bytes. Any example can be read on its own, by any thread, at any time.
///
/// Labels are not part of it: they are known to all processes from the start (ExampleSet).
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;

  virtual std::uint64_t examples() const = 0;

  /// How many bytes the payload of an example has. No I/O.
  virtual std::uint64_t payload_bytes(ExampleId id) const = 0;

  /// Fills `payload`, which has payload_bytes(id) bytes. Returns how many bytes that took from
  /// disk (or the server): 0 if the payload was in memory, more than the payload if it is stored
  /// compressed with others. DataError (file, and offset in it) if the bytes are damaged or
  /// missing. Thread-safe.
  virtual std::uint64_t read(ExampleId id, std::span<std::byte> payload) const = 0;

  /// Reads several payloads, as read() does each, in one go where that is cheaper (one request for
  /// neighbours). Returns the bytes that took in all.
  virtual std::uint64_t read_all(std::span<const PayloadWish> wishes) const;

  /// Whether payloads come over a network from a server that all processes share: what a read took
  /// is then booked as bytes of the source, not of the disk.
  virtual bool is_remote() const { return false; }

  /// Requests that were sent to that server so far, repeated ones too. Thread-safe.
  virtual std::uint64_t requests() const { return 0; }

  /// Who reads payloads ahead if told which will be needed; null: nobody does.
  virtual ReadAhead* read_ahead() const { return nullptr; }

  /// Where the example is stored, for messages: "images/dog/7.jpg", "shard.00003.mds, sample 17".
  virtual std::string describe(ExampleId id) const = 0;
};

}  // namespace impart::data
