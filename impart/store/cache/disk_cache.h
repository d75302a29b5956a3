#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "impart/core/ids.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/store/positioned_file.h"
#include "impart/store/shelf.h"

namespace impart::store {

struct DiskCacheSpec {
  std::string path;  ///< a local folder; made if there is none
  std::string data_id;
  std::uint64_t bytes = 0;    ///< of payloads, at most
  std::uint32_t process = 0;  ///< of so many in the job: takes the folder of that number ...
  std::uint32_t processes = 1;
};

/// Payloads in a folder on a local disk, for the next run as well. Every process has a folder of
/// its own in it, `process-NNNN`, which it locks; if another program has that one, the first free
/// one after those of the job. The folder is a shelf (shelf.h): whatever ends the process, it is
/// whole, and every payload has a hash that is compared before it is used. What does not have its
/// hash, or cannot be read, is dropped. When the disk is full nothing more is kept.
///
/// Thread-safe. ConfigError if the folder belongs to another data set.
class DiskCache {
 public:
  DiskCache(const DiskCacheSpec& spec, const data::PayloadSource& source);
  ~DiskCache();

  /// Copies the payload if it is here and whole.
  bool look_up(ExampleId id, std::vector<std::byte>& payload);
  bool contains(ExampleId id) const;
  /// Keeps a copy if there is room; with `evict` what was not looked up for longest, roughly, makes
  /// room.
  void keep(ExampleId id, std::span<const std::byte> payload, bool evict);
  void drop(ExampleId id);
  /// In the order of their numbers.
  std::vector<ExampleId> held() const;
  /// What was kept so far outlives the process.
  void flush();

  const std::string& folder() const { return folder_; }
  std::uint64_t bytes_read() const { return shelf_->bytes_read(); }
  std::uint64_t bytes_written() const;

 private:
  void forget(ExampleId id);
  void evict_one();

  std::uint64_t limit_;
  const data::PayloadSource& source_;
  std::string folder_;
  PositionedFile taken_;  ///< locked as long as this lives
  std::unique_ptr<Shelf> shelf_;
  mutable std::mutex mutex_;  ///< of all that follows, and of changes to the shelf
  std::unordered_set<ExampleId> held_, used_;
  std::deque<ExampleId> clock_;  ///< what was kept, in that order; may name what is gone
  std::uint64_t bytes_ = 0;
  bool is_full_ = false;  ///< the disk
};

}  // namespace impart::store
