// What a fetch reads, and the journal of a store.

#include <filesystem>

#include <archive.h>
#include <archive_entry.h>

#include "impart/data/fetch/stamp.h"
#include "impart/data/fetch/sums.h"
#include "impart/data/fetch/unpack.h"
#include "impart/store/shelf_journal.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {

void read_sums_file(Bytes input) {
  static const Folder folder;
  data::read_sums(folder.write("sums", input));
}

std::vector<std::string> sums_seeds() {
  return {"# sums\n" + std::string(64, 'a') + "  some/a.gz\n" + std::string(64, 'B') +
          " *b.gz\r\n"};
}

void read_stamp_file(Bytes input) {
  static const Folder folder;
  data::read_stamp(folder.write("stamp", input));
}

std::vector<std::string> stamp_seeds() {
  const Folder folder;
  data::write_stamp(folder / "stamp", {.sources = {{"a.gz", "00"}},
                                       .files = {{.name = "a", .bytes = 3, .sha256 = "1"}}});
  return {folder.read("stamp")};
}

namespace {
constexpr data::FetchMember kMembers[] = {{"a.bin", 1000}, {"b.txt", 100, true}};
}

void read_archive(Bytes input) {
  static const Folder folder, unpacked;
  data::unpack(
      {.archive = folder.write("a.tar.gz", input), .folder = unpacked.path(), .members = kMembers},
      {});
}

std::vector<std::string> archive_seeds() {
  std::vector<std::string> seeds;
  for (const bool zipped : {true, false}) {
    std::string file(16384, '\0');
    std::size_t used = 0;
    archive* writer = archive_write_new();
    if (zipped) archive_write_add_filter_gzip(writer);
    archive_write_set_format_pax_restricted(writer);
    archive_write_open_memory(writer, file.data(), file.size(), &used);
    for (const char* name : {"set/a.bin", "set/readme", "set/b.txt"}) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, name);
      archive_entry_set_size(entry, 5);
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_write_header(writer, entry);
      archive_write_data(writer, "hello", 5);
      archive_entry_free(entry);
    }
    archive_write_free(writer);
    seeds.push_back(file.substr(0, used));
  }
  return seeds;
}

void read_journal(Bytes input) {
  static const Folder folder;
  std::uint64_t records = 0;
  store::ShelfJournal({.path = folder.write("journal", input), .data_id = "data", .examples = 5},
                      [&](const store::ShelfJournal::Record&) { ++records; });
}

std::vector<std::string> journal_seeds() {
  const Folder folder;
  store::ShelfJournal journal({.path = folder / "journal", .data_id = "data", .examples = 5}, {});
  journal.append({.id = ExampleId{3}, .extent = {0, 10}, .hash = 7});
  journal.append({.kind = store::ShelfJournal::Kind::kClosed, .extent = {}});
  journal.flush();
  return {folder.read("journal")};
}

}  // namespace impart::fuzz
