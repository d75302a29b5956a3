#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "impart/core/ids.h"

namespace impart::data {

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
  /// disk: 0 if the payload was in memory, more than the payload if it is stored compressed with
  /// others. DataError (file, and offset in it) if the bytes are damaged or missing. Thread-safe.
  virtual std::uint64_t read(ExampleId id, std::span<std::byte> payload) const = 0;

  /// Where the example is stored, for messages: "images/dog/7.jpg", "shard.00003.mds, sample 17".
  virtual std::string describe(ExampleId id) const = 0;
};

}  // namespace impart::data
