#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impart/core/ids.h"
#include "impart/data/payloads/payload_source.h"

namespace impart::store {

/// The payloads that one worker holds, each with its xxh3-64. One thread changes a shelf; any
/// number may read() meanwhile, and see an example whole or not at all.
class Shelf {
 public:
  virtual ~Shelf() = default;

  virtual std::uint64_t examples() const = 0;
  /// In no particular order.
  virtual std::vector<ExampleId> held() const = 0;

  /// Copies a payload; how many bytes that took from disk, nothing if the example is not here.
  /// DataError if its bytes are damaged. Thread-safe.
  virtual std::optional<std::uint64_t> read(ExampleId id, std::vector<std::byte>& payload) = 0;

  /// Fills `payload`, which has the size of the example's, and returns its hash. Error if the
  /// example is not here, DataError if its bytes are damaged. For the thread that changes.
  virtual std::uint64_t copy(ExampleId id, std::span<std::byte> payload) = 0;
  /// Adds an example that is not here. IoError, with nothing changed, if the disk is full.
  virtual void put(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) = 0;
  /// Gives up an example and its place. Waits for those who are reading it. Error if it is not
  /// here.
  virtual void forget(ExampleId id) = 0;

  /// After flush() what was done before survives the process, after sync() the machine.
  virtual void flush() {}
  virtual void sync() {}
  /// Whether sync() waits for a disk.
  virtual bool syncs() const { return false; }
  /// Says that it ends in order: all that it holds can be believed when it is opened again.
  virtual void close() {}

  /// Bytes of the local files since the shelf was opened.
  virtual std::uint64_t bytes_read() const { return 0; }
  virtual std::uint64_t bytes_written() const { return 0; }
};

/// A shelf in memory: 8 bytes of hash and a hash table's entry beside each payload.
std::unique_ptr<Shelf> make_memory_shelf();

struct DirectoryShelfSpec {
  std::string folder;  ///< made if there is none
  std::string data_id;
};
/// A shelf in a folder: the payloads in one data file whose free places are used again, and a
/// journal of what lies where (docs/formats.md). Opened again it holds what it held; if it was not
/// closed in order every payload is read and checked first, and what does not have its hash is not
/// held. ConfigError if the folder belongs to another data set or is in use, DataError if the
/// journal's header is damaged, IoError if the folder cannot be made or written.
std::unique_ptr<Shelf> open_directory_shelf(const DirectoryShelfSpec& spec,
                                            const data::PayloadSource& source);

/// Removes the files of such a shelf, and its folder if nothing else is in it. ConfigError as
/// above.
void remove_directory_shelf(const DirectoryShelfSpec& spec, const data::PayloadSource& source);

}  // namespace impart::store
