#include "impart/data/fetch/stamp.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/data/fetch/sums.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

bool has_size(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  const std::uintmax_t found = fs::file_size(path, error);
  return !error && found == bytes;
}

}  // namespace

bool FetchStamp::lists(const std::string& name) const {
  return std::any_of(files.begin(), files.end(),
                     [&](const FetchedFile& file) { return file.name == name; });
}

std::optional<FetchStamp> read_stamp(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const InputFile file(path);
  try {
    const auto json = parse_json(file.text(), path);
    FetchStamp stamp{.sources = json.at("sources"), .files = {}};
    for (const auto& entry : json.at("files")) {
      stamp.files.push_back({.name = entry.at("name"),
                             .bytes = whole_number(entry.at("bytes")),
                             .sha256 = entry.at("sha256")});
    }
    return stamp;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

void write_stamp(const std::string& path, const FetchStamp& stamp) {
  nlohmann::ordered_json json = {{"sources", stamp.sources},
                                 {"files", nlohmann::ordered_json::array()}};
  for (const FetchedFile& file : stamp.files) {
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  write_file(path, json.dump(2) + "\n");
}

bool files_are_intact(const FetchStamp& stamp, const std::string& folder,
                      const Progress& progress) {
  std::uint64_t total = 0, before = 0;
  for (const FetchedFile& file : stamp.files) {
    if (!has_size(fs::path(folder) / file.name, file.bytes)) return false;
    total += file.bytes;
  }
  for (const FetchedFile& file : stamp.files) {
    const auto report = [&](std::uint64_t done, std::uint64_t) {
      if (progress) progress(before + done, total);
    };
    if (sha256_of_file((fs::path(folder) / file.name).string(), report) != file.sha256)
      return false;
    before += file.bytes;
  }
  return true;
}

}  // namespace impart::data
