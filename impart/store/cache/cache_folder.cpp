#include "impart/store/cache/cache_folder.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/store/payload_hash.h"
#include "impart/store/positioned_file.h"
#include "impart/store/shelf.h"
#include "impart/store/shelf_journal.h"

namespace impart::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProcessPrefix = "process-";

std::vector<std::string> folders_of_processes(const std::string& path) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const bool is_ours = entry.path().filename().string().starts_with(kProcessPrefix) &&
                         fs::exists(entry.path() / kCacheLockName);
    if (is_ours) folders.push_back(entry.path());
  }
  if (error) throw DataError(fmt::format("{}: {}", path, error.message()));
  if (folders.empty()) {
    throw DataError(fmt::format("{}: is no cache: it has no folder {}NNNN; give a store.cache_path",
                                path, kProcessPrefix));
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

PositionedFile open_lock_file(const std::string& folder) {
  return {folder + "/" + kCacheLockName, PositionedFile::Mode::kOpenOrCreate};
}

bool has_hash(const PositionedFile& payloads, const ShelfJournal::Record& record) {
  if (record.extent.end() > payloads.size()) return false;
  std::vector<std::byte> payload(record.extent.size);
  return payloads.read(record.extent.offset, payload) == payload.size() &&
         payload_hash(payload) == record.hash;
}

CacheFolder look_at(const std::string& folder, bool verify) {
  CacheFolder found{.folder = folder};
  PositionedFile lock = open_lock_file(folder);
  found.in_use = !lock.try_lock();
  const std::string journal = folder + "/journal";
  if (!fs::exists(journal)) return found;
  ShelfJournal::Spec spec = ShelfJournal::read_spec(journal);
  spec.read_only = true;
  found.data_id = spec.data_id;
  found.examples = spec.examples;
  std::map<std::uint64_t, ShelfJournal::Record> held;
  const ShelfJournal records(spec, [&](const ShelfJournal::Record& record) {
    if (record.kind == ShelfJournal::Kind::kHave) held[index(record.id)] = record;
    if (record.kind == ShelfJournal::Kind::kGone) held.erase(index(record.id));
  });
  found.was_closed = records.was_closed();
  const PositionedFile payloads(folder + "/payloads", PositionedFile::Mode::kOpen);
  for (const auto& [id, record] : held) {
    ++found.payloads;
    found.bytes += record.extent.size;
    if (verify && !has_hash(payloads, record)) ++found.damaged;
  }
  return found;
}

}  // namespace

std::string cache_folder(const std::string& path, std::uint32_t process) {
  return (fs::path(path) / fmt::format("{}{:04}", kProcessPrefix, process)).string();
}

std::vector<CacheFolder> look_at_cache(const std::string& path, bool verify) {
  std::vector<CacheFolder> found;
  for (const std::string& folder : folders_of_processes(path)) {
    found.push_back(look_at(folder, verify));
  }
  return found;
}

std::uint64_t clear_cache(const std::string& path) {
  const std::vector<std::string> folders = folders_of_processes(path);
  std::list<PositionedFile> locks;
  for (const std::string& folder : folders) {
    if (!locks.emplace_back(open_lock_file(folder)).try_lock()) {
      throw ConfigError(
          fmt::format("{}: a run is using it; clear the cache when it has ended", folder));
    }
  }
  std::error_code ignored;
  for (const std::string& folder : folders) {
    for (const char* name : {"payloads", "journal", "journal.new", kCacheLockName}) {
      fs::remove(fs::path(folder) / name, ignored);
    }
    fs::remove(folder, ignored);
  }
  fs::remove(path, ignored);
  return folders.size();
}

}  // namespace impart::store
