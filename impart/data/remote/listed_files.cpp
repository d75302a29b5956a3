#include "impart/data/remote/listed_files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/data/mds/hashes.h"

namespace impart::data {
namespace {

constexpr std::uint64_t kMostListedBytes = std::uint64_t{4} << 30;
constexpr int kListedAttempts = 4;
constexpr int kSumsVersion = 1;

/// Of the hashes themselves.
std::string check_of(const FileSums& sums) {
  std::string lines;
  for (const auto& [name, hash] : sums) lines += fmt::format("{} {}\n", name, hash);
  return xxh3_64_of(std::as_bytes(std::span(lines)));
}

std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string file_sums_text(const FileSums& sums) {
  const nlohmann::json value = {
      {"version", kSumsVersion}, {"xxh3_64", sums}, {"check", check_of(sums)}};
  return value.dump(2) + "\n";
}

FileSums parse_file_sums(std::string_view text, const std::string& place) {
  try {
    const nlohmann::json value = parse_json(text, place);
    if (value.at("version") != kSumsVersion) throw DataError(place + ": another version than 1");
    auto sums = value.at("xxh3_64").get<FileSums>();
    if (value.at("check") != check_of(sums)) {
      throw DataError(place + ": its check is not that of its hashes: damaged");
    }
    return sums;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: not what is expected there: {}", place, error.what()));
  }
}

ListedFiles::ListedFiles(ObjectReader& reader) : reader_(reader) {
  fetch_sums();
}

/// Damaged as it may be, it is fetched again before anyone complains.
void ListedFiles::fetch_sums() {
  const std::string place = fmt::format("{}/{}", reader_.folder(), kSumsName);
  for (int attempt = 1;; ++attempt) {
    const auto bytes = reader_.read_if_there(kSumsName, kMostListedBytes);
    sums_.reset();
    if (!bytes) return;
    try {
      sums_ = parse_file_sums(as_text(*bytes), place);
      return;
    } catch (const DataError&) {
      if (attempt == kListedAttempts) throw;
    }
  }
}

std::vector<std::byte> ListedFiles::fetch(const std::string& name) {
  std::string found, listed;
  for (int attempt = 0; attempt < kListedAttempts; ++attempt) {
    std::vector<std::byte> bytes = reader_.read_whole(name, kMostListedBytes);
    if (!sums_ || !sums_->contains(name)) return bytes;
    found = xxh3_64_of(bytes);
    listed = sums_->at(name);
    if (found == listed) return bytes;
    fetch_sums();
  }
  throw DataError(
      fmt::format("{}/{}: its xxh3_64 is {}, but {} says {}: damaged, or 'impart data "
                  "index' was not run after a change",
                  reader_.folder(), name, found, kSumsName, listed));
}

std::optional<std::vector<std::byte>> ListedFiles::fetch_if_there(const std::string& name) {
  if (!sums_) return reader_.read_if_there(name, kMostListedBytes);
  if (!sums_->contains(name)) return std::nullopt;
  return fetch(name);
}

ListedFiles::Copy ListedFiles::copy(std::initializer_list<const char*> names) {
  std::string folder = (std::filesystem::temp_directory_path() / "impart-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    throw IoError(fmt::format("{}: cannot create: {}", folder, std::strerror(errno)));
  }
  Copy copies(folder, reader_.folder());
  for (const char* name : names) {
    if (const auto bytes = fetch_if_there(name)) write_file(folder + '/' + name, *bytes);
  }
  return copies;
}

ListedFiles::Copy::~Copy() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ListedFiles::Copy::about_original(std::string message) const {
  for (std::size_t at = message.find(path_); at != std::string::npos; at = message.find(path_)) {
    message.replace(at, path_.size(), folder_);
  }
  return message;
}

}  // namespace impart::data
