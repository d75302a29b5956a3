#include "impart/data/images/folder_index.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/csv.h"
#include "impart/core/error.h"

namespace impart::data {
namespace {

constexpr std::uint64_t kLargestIndexed = std::uint64_t{1} << 29;

struct IndexColumns {
  std::size_t path = 0, bytes = 0, label = 0;
  std::optional<std::size_t> hash = {};
};

IndexColumns find_columns(const std::vector<std::string>& names) {
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) return std::nullopt;
    return static_cast<std::size_t>(at - names.begin());
  };
  const auto path = find("path"), bytes = find("bytes"), label = find("label");
  if (!path || !bytes || !label) {
    throw DataError("its first line must name the columns path, bytes and label (and xxh3_64)");
  }
  return {*path, *bytes, *label, find("xxh3_64")};
}

bool stays_inside(std::string_view path) {
  if (path.empty() || path.starts_with('/')) return false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == "..") return false;
    at = end + 1;
  }
  return true;
}

bool is_hash(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

IndexedPhoto parse_photo(const std::vector<std::string>& fields, const IndexColumns& columns,
                         std::size_t width) {
  if (fields.size() != width) {
    throw DataError(fmt::format("{} fields, but the first line has {}", fields.size(), width));
  }
  IndexedPhoto photo{.path = fields[columns.path], .label = fields[columns.label]};
  if (!stays_inside(photo.path)) {
    throw DataError(fmt::format("path '{}' leads out of the folder", shorten(photo.path)));
  }
  if (photo.label.empty()) throw DataError("there is no label");
  const std::string& number = fields[columns.bytes];
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, photo.bytes);
  if (error != std::errc{} || stop != end || photo.bytes > kLargestIndexed) {
    throw DataError(fmt::format("'{}' is no number of bytes of a photograph", shorten(number)));
  }
  if (columns.hash) photo.hash = fields[*columns.hash];
  if (!photo.hash.empty() && !is_hash(photo.hash)) {
    throw DataError(fmt::format("'{}' is no xxh3_64: 16 hex digits", shorten(photo.hash)));
  }
  return photo;
}

}  // namespace

std::string folder_index_text(const std::vector<IndexedPhoto>& photos) {
  std::string text = "path,bytes,label,xxh3_64\n";
  for (const IndexedPhoto& photo : photos) {
    text += fmt::format("{},{},{},{}\n", csv_field(photo.path), photo.bytes, csv_field(photo.label),
                        photo.hash);
  }
  return text;
}

std::vector<IndexedPhoto> parse_folder_index(std::string_view text, const std::string& place) {
  std::vector<IndexedPhoto> photos;
  std::optional<IndexColumns> columns;
  std::size_t width = 0, line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row = text.substr(at, end - at);
    if (row.ends_with('\r')) row.remove_suffix(1);
    at = end + 1;
    ++line;
    if (row.empty()) continue;
    try {
      const std::vector<std::string> fields = split_csv_line(row);
      if (columns) {
        photos.push_back(parse_photo(fields, *columns, width));
      } else {
        columns = find_columns(fields);
        width = fields.size();
      }
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}:{}: {}", place, line, error.what()));
    }
  }
  if (photos.empty()) throw DataError(fmt::format("{}: lists no photographs", place));
  return photos;
}

}  // namespace impart::data
