#include "impart/data/mds/columns.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/mds/array.h"

namespace impart::data {
namespace {

enum class ColumnKind { Integer, Number, Photo, Array, Other };

struct Encoding {
  std::string_view name;
  ColumnKind kind;
  std::uint32_t bytes;  ///< of every value, 0 if they differ
  bool has_sign = false;
};

constexpr Encoding kEncodings[] = {
    {"int", ColumnKind::Integer, 8, true},   {"int8", ColumnKind::Integer, 1, true},
    {"int16", ColumnKind::Integer, 2, true}, {"int32", ColumnKind::Integer, 4, true},
    {"int64", ColumnKind::Integer, 8, true}, {"uint8", ColumnKind::Integer, 1},
    {"uint16", ColumnKind::Integer, 2},      {"uint32", ColumnKind::Integer, 4},
    {"uint64", ColumnKind::Integer, 8},      {"float16", ColumnKind::Number, 2},
    {"float32", ColumnKind::Number, 4},      {"float64", ColumnKind::Number, 8},
    {"jpeg", ColumnKind::Photo, 0},          {"png", ColumnKind::Photo, 0},
    {"bytes", ColumnKind::Photo, 0},         {"ndarray", ColumnKind::Array, 0},
    {"str", ColumnKind::Other, 0},           {"json", ColumnKind::Other, 0},
};

/// What stands before the first colon names the encoding.
const Encoding* find_encoding(std::string_view encoding) {
  const std::string_view name = encoding.substr(0, encoding.find(':'));
  const auto* found = std::find_if(std::begin(kEncodings), std::end(kEncodings),
                                   [&](const Encoding& row) { return row.name == name; });
  return found == std::end(kEncodings) ? nullptr : found;
}

bool is_kind(std::string_view encoding, ColumnKind kind) {
  const Encoding* row = find_encoding(encoding);
  return row != nullptr && row->kind == kind;
}

std::uint32_t read_u32(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::string list_columns(std::span<const MdsColumn> columns) {
  std::string text;
  for (const MdsColumn& column : columns) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", column.name, column.encoding);
  }
  return text;
}

std::optional<std::size_t> find_name(std::span<const MdsColumn> columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const MdsColumn& column) { return column.name == name; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

/// The column a user asked for; `fits` says whether its encoding can be used as a `what`.
template <class Fits>
std::size_t find_named(std::span<const MdsColumn> columns, std::string_view name,
                       std::string_view what, Fits&& fits) {
  const auto column = find_name(columns, name);
  if (!column) {
    throw ConfigError(fmt::format("there is no column '{}' for the {}; the columns are {}", name,
                                  what, list_columns(columns)));
  }
  if (!fits(columns[*column].encoding)) {
    throw ConfigError(fmt::format("column '{}' is stored as '{}', which cannot be read as the {}",
                                  name, columns[*column].encoding, what));
  }
  return *column;
}

}  // namespace

MdsColumn make_mds_column(std::string name, std::string encoding) {
  if (find_encoding(encoding) == nullptr) {
    throw ConfigError(fmt::format("column '{}': unknown MDS encoding '{}'", name, encoding));
  }
  std::uint32_t bytes = 0;
  try {
    bytes = mds_fixed_bytes(encoding);
  } catch (const DataError& error) {
    throw ConfigError(fmt::format("column '{}': {}", name, error.what()));
  }
  return {.name = std::move(name), .encoding = std::move(encoding), .fixed_bytes = bytes};
}

std::uint32_t mds_fixed_bytes(std::string_view encoding) {
  const Encoding* row = find_encoding(encoding);
  if (row == nullptr) return 0;
  if (row->kind != ColumnKind::Array) return row->bytes;
  return parse_mds_array_encoding(encoding).fixed_bytes();
}

std::vector<std::byte> join_mds_values(std::span<const MdsColumn> columns,
                                       std::span<const std::span<const std::byte>> values) {
  if (values.size() != columns.size()) {
    throw ConfigError(
        fmt::format("a sample of {} values for {} columns", values.size(), columns.size()));
  }
  std::vector<std::byte> sample;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto bytes = static_cast<std::uint32_t>(values[i].size());
    if (columns[i].fixed_bytes != 0 && columns[i].fixed_bytes != values[i].size()) {
      throw ConfigError(fmt::format("column '{}' ({}) takes {} bytes, not {}", columns[i].name,
                                    columns[i].encoding, columns[i].fixed_bytes, values[i].size()));
    }
    if (bytes != values[i].size()) {
      throw ConfigError(fmt::format("column '{}': a value of over 4 GiB", columns[i].name));
    }
    const auto size = std::as_bytes(std::span(&bytes, 1));
    if (columns[i].fixed_bytes == 0) sample.insert(sample.end(), size.begin(), size.end());
  }
  for (const auto value : values) sample.insert(sample.end(), value.begin(), value.end());
  return sample;
}

std::span<const std::byte> mds_value(std::span<const MdsColumn> columns, std::size_t column,
                                     std::span<const std::byte> sample) {
  std::uint64_t head = 0;
  for (const MdsColumn& each : columns) head += each.fixed_bytes == 0 ? 4 : 0;
  std::uint64_t size_at = 0, end = head, start = 0, wanted = 0;
  for (std::size_t i = 0; i < columns.size() && head <= sample.size(); ++i) {
    std::uint64_t bytes = columns[i].fixed_bytes;
    if (bytes == 0) {
      bytes = read_u32(sample, size_at);
      size_at += 4;
    }
    if (i == column) {
      start = end;
      wanted = bytes;
    }
    end += bytes;
  }
  if (end != sample.size()) {
    throw DataError(
        fmt::format("its values add up to {} bytes, but the sample has {}", end, sample.size()));
  }
  return sample.subspan(start, wanted);
}

std::uint64_t least_mds_sample(std::span<const MdsColumn> columns) {
  std::uint64_t bytes = 0;
  for (const MdsColumn& column : columns) bytes += column.fixed_bytes == 0 ? 4 : column.fixed_bytes;
  return bytes;
}

std::size_t find_mds_image(std::span<const MdsColumn> columns, std::string_view name) {
  const auto is_image = [](std::string_view encoding) {
    return is_kind(encoding, ColumnKind::Photo) || is_kind(encoding, ColumnKind::Array);
  };
  if (!name.empty()) return find_named(columns, name, "image", is_image);
  for (const std::string_view wanted : {"jpeg", "png", "bytes", "ndarray"}) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string_view encoding = columns[i].encoding;
      if (encoding.substr(0, encoding.find(':')) == wanted) return i;
    }
  }
  throw DataError(
      fmt::format("no column holds images that can be read (jpeg, png, bytes or ndarray; 'pil' and "
                  "lists are not supported); the columns are {}",
                  list_columns(columns)));
}

std::size_t find_mds_label(std::span<const MdsColumn> columns, std::string_view name) {
  const auto is_integer = [](std::string_view encoding) {
    return is_kind(encoding, ColumnKind::Integer);
  };
  if (!name.empty()) return find_named(columns, name, "label", is_integer);
  for (const std::string_view usual : {"label", "class"}) {
    const auto column = find_name(columns, usual);
    if (column && is_integer(columns[*column].encoding)) return *column;
  }
  std::vector<std::size_t> integers;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_integer(columns[i].encoding)) integers.push_back(i);
  }
  if (integers.size() == 1) return integers.front();
  throw DataError(
      fmt::format("no column 'label' or 'class' and {} integer column, so the label is not known; "
                  "the columns are {}",
                  integers.empty() ? "no" : "more than one", list_columns(columns)));
}

std::uint32_t read_mds_label(std::string_view encoding, std::span<const std::byte> value) {
  const Encoding* row = find_encoding(encoding);
  if (row == nullptr || row->kind != ColumnKind::Integer || value.size() != row->bytes) {
    throw DataError(fmt::format("{} bytes of '{}' are no label", value.size(), encoding));
  }
  std::uint64_t number = 0;
  std::memcpy(&number, value.data(), value.size());
  const bool negative = row->has_sign && (number >> (8 * value.size() - 1)) != 0;
  if (negative || number >= kMostMdsClasses) {
    throw DataError(fmt::format("its label is {}, not in 0..{}",
                                negative ? "negative" : fmt::to_string(number),
                                kMostMdsClasses - 1));
  }
  return static_cast<std::uint32_t>(number);
}

bool is_mds_photo(std::string_view encoding) {
  return is_kind(encoding, ColumnKind::Photo);
}

}  // namespace impart::data
