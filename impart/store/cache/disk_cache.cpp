#include "impart/store/cache/disk_cache.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/store/cache/cache_folder.h"
#include "impart/store/payload_hash.h"

namespace impart::store {
namespace {

/// Programs that use one folder at a time, beyond the processes of a job.
constexpr std::uint32_t kMostGuests = 1024;

/// The lock of the process's own folder, for which a process that is just ending is waited for, or
/// of a free one.
PositionedFile take_folder(const DiskCacheSpec& spec) {
  const auto open_lock = [&](std::uint32_t number) {
    const std::string folder = cache_folder(spec.path, number);
    make_folder(folder);
    return PositionedFile(folder + "/" + kCacheLockName, PositionedFile::Mode::kOpenOrCreate);
  };
  PositionedFile own = open_lock(spec.process);
  try {
    own.lock();
    return own;
  } catch (const ConfigError&) {
    for (std::uint32_t guest = 0; guest < kMostGuests; ++guest) {
      PositionedFile other = open_lock(spec.processes + guest);
      if (other.try_lock()) return other;
    }
    throw;
  }
}

}  // namespace

DiskCache::DiskCache(const DiskCacheSpec& spec, const data::PayloadSource& source)
    : limit_(spec.bytes),
      source_(source),
      taken_(take_folder(spec)),
      shelf_(open_directory_shelf(
          {.folder = std::filesystem::path(taken_.path()).parent_path(), .data_id = spec.data_id},
          source)) {
  folder_ = std::filesystem::path(taken_.path()).parent_path();
  std::vector<ExampleId> found = shelf_->held();
  std::sort(found.begin(), found.end());
  for (const ExampleId id : found) {
    bytes_ += source.payload_bytes(id);
    held_.insert(id);
    clock_.push_back(id);
  }
  while (bytes_ > limit_) evict_one();
}

DiskCache::~DiskCache() {
  try {
    shelf_->close();
  } catch (const Error&) {
    return;  // the next opening checks every payload
  }
}

bool DiskCache::look_up(ExampleId id, std::vector<std::byte>& payload) {
  if (!contains(id)) return false;
  try {
    if (!shelf_->read(id, payload)) return false;
  } catch (const DataError&) {
    drop(id);
    return false;
  }
  const std::lock_guard lock(mutex_);
  used_.insert(id);
  return true;
}

bool DiskCache::contains(ExampleId id) const {
  const std::lock_guard lock(mutex_);
  return held_.contains(id);
}

void DiskCache::keep(ExampleId id, std::span<const std::byte> payload, bool evict) {
  const std::lock_guard lock(mutex_);
  if (is_full_ || held_.contains(id) || payload.size() > limit_) return;
  while (evict && bytes_ + payload.size() > limit_) evict_one();
  if (bytes_ + payload.size() > limit_) return;
  try {
    shelf_->put(id, payload, payload_hash(payload));
  } catch (const IoError&) {
    is_full_ = true;  // a cache may hold less than it is allowed
    return;
  }
  held_.insert(id);
  clock_.push_back(id);
  bytes_ += payload.size();
}

void DiskCache::drop(ExampleId id) {
  const std::lock_guard lock(mutex_);
  if (held_.contains(id)) forget(id);
}

void DiskCache::forget(ExampleId id) {
  shelf_->forget(id);
  held_.erase(id);
  used_.erase(id);
  bytes_ -= source_.payload_bytes(id);
}

/// There is a payload to evict, or the cache would be empty and fit anything that is not larger.
void DiskCache::evict_one() {
  while (true) {
    const ExampleId id = clock_.front();
    clock_.pop_front();
    if (!held_.contains(id)) continue;
    if (used_.erase(id) == 0) return forget(id);
    clock_.push_back(id);
  }
}

std::vector<ExampleId> DiskCache::held() const {
  const std::lock_guard lock(mutex_);
  std::vector<ExampleId> ids(held_.begin(), held_.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

void DiskCache::flush() {
  const std::lock_guard lock(mutex_);
  shelf_->flush();
}

std::uint64_t DiskCache::bytes_written() const {
  const std::lock_guard lock(mutex_);
  return shelf_->bytes_written();
}

}  // namespace impart::store
