#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/store/extents.h"
#include "impart/store/payload_hash.h"
#include "impart/store/positioned_file.h"
#include "impart/store/shelf.h"
#include "impart/store/shelf_journal.h"

namespace impart::store {
namespace {

/// A journal is written anew when it has this many records, and this many times those it needs.
constexpr std::uint64_t kLongJournal = 65'536;
constexpr std::uint64_t kJournalSlack = 8;

constexpr const char* kJournalName = "journal";
constexpr const char* kPayloadsName = "payloads";

std::string made_folder(const std::string& folder) {
  make_folder(folder);
  return folder;
}

std::string path_in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

PositionedFile locked(PositionedFile file) {
  file.lock();
  return file;
}

class DirectoryShelf final : public Shelf {
 public:
  DirectoryShelf(const DirectoryShelfSpec& spec, const data::PayloadSource& source)
      : payloads_(locked({path_in(made_folder(spec.folder), kPayloadsName),
                          PositionedFile::Mode::kOpenOrCreate})),
        journal_({path_in(spec.folder, kJournalName), spec.data_id, source.examples()},
                 [this](const ShelfJournal::Record& record) { replay(record); }) {
    believe_or_check(source);
    payloads_.truncate(extents_.end());
  }

  std::uint64_t examples() const override { return entries_.size(); }

  std::vector<ExampleId> held() const override {
    std::vector<ExampleId> ids;
    ids.reserve(entries_.size());
    for (const auto& [id, entry] : entries_) ids.push_back(id);
    return ids;
  }

  std::optional<std::uint64_t> read(ExampleId id, std::vector<std::byte>& payload) override {
    const std::shared_lock lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end()) return std::nullopt;
    payload.resize(at->second.extent.size);
    load(id, at->second, payload);
    return payload.size();
  }

  std::uint64_t copy(ExampleId id, std::span<std::byte> payload) override {
    const Entry& entry = find(id)->second;
    if (entry.extent.size != payload.size()) {
      throw Error(fmt::format("example {} changed", index(id)));
    }
    load(id, entry, payload);
    return entry.hash;
  }

  void put(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) override {
    if (entries_.contains(id)) throw Error(fmt::format("example {} is here already", index(id)));
    const Extent extent = extents_.allocate(payload.size());
    try {
      payloads_.write(extent.offset, payload);
    } catch (const IoError&) {
      extents_.free(extent);
      throw;
    }
    journal_.append({ShelfJournal::Kind::kHave, id, extent, hash});
    const std::unique_lock lock(mutex_);
    entries_.emplace(id, Entry{extent, hash});
  }

  void forget(ExampleId id) override {
    const auto at = find(id);
    const Extent extent = at->second.extent;
    {
      const std::unique_lock lock(mutex_);
      entries_.erase(at);
    }
    journal_.append({ShelfJournal::Kind::kGone, id, {}, 0});
    extents_.free(extent);
  }

  void flush() override {
    const bool is_long = journal_.records() > kLongJournal;
    if (is_long && journal_.records() > kJournalSlack * entries_.size()) return shorten_journal();
    journal_.flush();
  }

  bool syncs() const override { return true; }

  void sync() override {
    payloads_.sync();
    flush();
    journal_.sync();
  }

  /// If something was found damaged, the next opening checks everything.
  void close() override {
    if (damaged_) return;
    payloads_.truncate(extents_.end());
    payloads_.sync();
    journal_.append({ShelfJournal::Kind::kClosed, {}, {}, 0});
    journal_.sync();
  }

  std::uint64_t bytes_read() const override {
    return payloads_.bytes_read() + journal_.bytes_read();
  }
  std::uint64_t bytes_written() const override {
    return payloads_.bytes_written() + journal_.bytes_written();
  }

 private:
  struct Entry {
    Extent extent;
    std::uint64_t hash;
  };
  using Entries = std::unordered_map<ExampleId, Entry>;

  void replay(const ShelfJournal::Record& record) {
    if (record.kind == ShelfJournal::Kind::kHave) {
      entries_.insert_or_assign(record.id, Entry{record.extent, record.hash});
    } else if (record.kind == ShelfJournal::Kind::kGone) {
      entries_.erase(record.id);
    }
  }

  /// In the order of the file, so that checking reads it once from the front.
  void believe_or_check(const data::PayloadSource& source) {
    std::vector<std::pair<ExampleId, Entry>> found(entries_.begin(), entries_.end());
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.second.extent.offset < b.second.extent.offset;
    });
    const std::uint64_t end = found.empty() ? 0 : found.back().second.extent.end();
    const bool check = !journal_.was_closed() || payloads_.size() < end;
    std::vector<std::byte> payload;
    for (const auto& [id, entry] : found) {
      const bool right = index(id) < source.examples() &&
                         entry.extent.size == source.payload_bytes(id) &&
                         (!check || has_its_hash(entry, payload)) && extents_.reserve(entry.extent);
      if (right) continue;
      entries_.erase(id);
      journal_.append({ShelfJournal::Kind::kGone, id, {}, 0});
    }
    journal_.append({ShelfJournal::Kind::kOpened, {}, {}, 0});
    journal_.flush();
  }

  bool has_its_hash(const Entry& entry, std::vector<std::byte>& payload) const {
    payload.resize(entry.extent.size);
    return payloads_.read(entry.extent.offset, payload) == payload.size() &&
           payload_hash(payload) == entry.hash;
  }

  void load(ExampleId id, const Entry& entry, std::span<std::byte> payload) {
    const std::size_t got = payloads_.read(entry.extent.offset, payload);
    if (got == payload.size() && payload_hash(payload) == entry.hash) return;
    damaged_ = true;
    throw DataError(fmt::format("{}: offset {}: the {} bytes of example {} are damaged",
                                payloads_.path(), entry.extent.offset, payload.size(), index(id)));
  }

  Entries::iterator find(ExampleId id) {
    const auto at = entries_.find(id);
    if (at != entries_.end()) return at;
    throw Error(fmt::format("{}: example {} is not here", payloads_.path(), index(id)));
  }

  /// The disk must have the payloads before a journal that names them replaces the old one.
  void shorten_journal() {
    std::vector<ShelfJournal::Record> records;
    records.reserve(entries_.size());
    for (const auto& [id, entry] : entries_) {
      records.push_back({ShelfJournal::Kind::kHave, id, entry.extent, entry.hash});
    }
    payloads_.sync();
    journal_.rewrite(records);
  }

  PositionedFile payloads_;
  Entries entries_;
  ExtentAllocator extents_;
  ShelfJournal journal_;
  std::shared_mutex mutex_;
  std::atomic<bool> damaged_ = false;
};

}  // namespace

std::unique_ptr<Shelf> open_directory_shelf(const DirectoryShelfSpec& spec,
                                            const data::PayloadSource& source) {
  return std::make_unique<DirectoryShelf>(spec, source);
}

void remove_directory_shelf(const DirectoryShelfSpec& spec, const data::PayloadSource& source) {
  const std::string payloads = path_in(spec.folder, kPayloadsName);
  const PositionedFile in_use = locked({payloads, PositionedFile::Mode::kOpenOrCreate});
  const std::string journal = path_in(spec.folder, kJournalName);
  const ShelfJournal recognised({journal, spec.data_id, source.examples()},
                                [](const ShelfJournal::Record&) {});
  std::error_code ignored;
  std::filesystem::remove(payloads, ignored);
  std::filesystem::remove(journal, ignored);
  std::filesystem::remove(spec.folder, ignored);
}

}  // namespace impart::store
