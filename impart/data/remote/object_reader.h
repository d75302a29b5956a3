#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/remote/remote_spec.h"

namespace impart::data {

/// Bytes of an object to be read, and where to.
struct ObjectRead {
  std::string name;  ///< below the folder
  std::uint64_t offset = 0;
  std::span<std::byte> into = {};
  std::uint64_t object_bytes = 0;  ///< that the whole object must have; 0: any
};

/// The objects below a folder on a server: https://, http:// or s3://. Requests of all callers go
/// over a few connections at a time, served by one thread, with HTTP/2 where the server has it.
///
/// What may pass (no connection, a cut, too few bytes, too slow, 408, 425, 429, 5xx) is tried again
/// after 0.1 s, then twice as long each time up to 10 s, by chance up to half shorter, but not
/// before the server asked for. For the rest:
///   DataError  there is no such object, or it has another size than it must have
///   IoError    access is refused, the object changed since it was first read, the server cannot do
///              ranges or cannot be trusted, or there were too many failures
/// Messages name the URL as the user gave it, and never a key.
///
/// Thread-safe.
class ObjectReader {
 public:
  /// No request yet. ConfigError if the root cannot be.
  ObjectReader(std::string_view root, const RemoteSpec& spec);
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  /// The folder, as the user gave it.
  const std::string& folder() const;

  /// Reads all of them and returns how many bytes that took from the server, repetitions included.
  /// Throws what went wrong with the first of them that failed, when none is under way any more.
  std::uint64_t read(std::span<const ObjectRead> reads);

  /// A whole object of at most so many bytes.
  std::vector<std::byte> read_whole(const std::string& name, std::uint64_t most);
  /// Nothing if there is no such object, or it is refused: S3 refuses what is missing to those who
  /// may not list a bucket.
  std::optional<std::vector<std::byte>> read_if_there(const std::string& name, std::uint64_t most);

  std::uint64_t requests() const;  ///< sent so far, repeated ones too

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace impart::data
