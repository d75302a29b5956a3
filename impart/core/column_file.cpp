#include "impart/core/column_file.h"

#include <array>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "impart/core/csv.h"
#include "impart/core/error.h"
#include "impart/core/npy.h"

namespace impart {
namespace {

constexpr std::uint64_t kRowsPerReport = 1 << 16;

enum class Format { kCsv, kNpy };

Format format_of(const std::string& path) {
  if (path.ends_with(".csv")) return Format::kCsv;
  if (path.ends_with(".npy")) return Format::kNpy;
  throw ConfigError(fmt::format("{}: the file name must end in .csv or .npy", path));
}

bool is_text(const std::string& path) {
  return path.ends_with(".txt");
}

NpyArray parse_vector(const InputFile& file) {
  NpyArray array = parse_npy(file);
  if (array.shape.size() != 1) {
    throw DataError(fmt::format("{}: expected a one-dimensional array, found {} dimensions",
                                file.path(), array.shape.size()));
  }
  return array;
}

template <class T>
std::span<const T> elements(const NpyArray& array) {
  return {reinterpret_cast<const T*>(array.data.data()), array.size()};
}

bool is_aligned(const NpyArray& array) {
  return reinterpret_cast<std::uintptr_t>(array.data.data()) % alignof(double) == 0;
}

template <class T>
std::vector<std::uint32_t> narrow(const InputFile& file, const NpyArray& array) {
  std::vector<std::uint32_t> narrowed(array.size());
  for (std::uint64_t i = 0; i < array.size(); ++i) {
    T value;
    std::memcpy(&value, array.data.data() + i * sizeof(T), sizeof(T));
    if (!std::in_range<std::uint32_t>(value)) {
      throw DataError(fmt::format("{}: element {} is {}, not between 0 and 4294967295", file.path(),
                                  i, +value));
    }
    narrowed[i] = static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<T>>(value));
  }
  return narrowed;
}

std::vector<std::uint32_t> narrow_integers(const InputFile& file) {
  const NpyArray array = parse_vector(file);
  if (array.type == "u4") return narrow<std::uint32_t>(file, array);
  if (array.type == "i4") return narrow<std::int32_t>(file, array);
  if (array.type == "i8") return narrow<std::int64_t>(file, array);
  if (array.type == "u8") return narrow<std::uint64_t>(file, array);
  if (array.type == "u2") return narrow<std::uint16_t>(file, array);
  if (array.type == "i2") return narrow<std::int16_t>(file, array);
  if (array.type == "u1") return narrow<std::uint8_t>(file, array);
  if (array.type == "i1") return narrow<std::int8_t>(file, array);
  throw DataError(
      fmt::format("{}: expected whole numbers, found type {}", file.path(), array.type));
}

template <class T>
void write_csv(OutputFile& file, std::string_view column, std::span<const T> values,
               const Progress& progress) {
  file.write(fmt::format("id,{}\n", column));
  fmt::memory_buffer lines;
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(lines), FMT_COMPILE("{},{}\n"), i, values[i]);
    if ((i + 1) % kRowsPerReport != 0 && i + 1 != values.size()) continue;
    file.write(std::string_view(lines.data(), lines.size()));
    lines.clear();
    if (progress) progress(i + 1, values.size());
  }
}

template <class T>
void write_column(const std::string& path, std::string_view column, std::string_view npy_type,
                  std::span<const T> values, const Progress& progress) {
  const Format format = format_of(path);
  OutputFile file(path);
  if (format == Format::kCsv) {
    write_csv(file, column, values, progress);
  } else {
    const std::array<std::uint64_t, 1> shape = {values.size()};
    file.write(npy_header(npy_type, shape));
    file.write(std::as_bytes(values));
  }
  file.commit();
}

}  // namespace

ScoresFile::ScoresFile(const std::string& path, std::string_view column, const Progress& progress) {
  const Format format = format_of(path);
  InputFile file(path);
  if (format == Format::kCsv) {
    parsed_ = read_dense_csv<double>(file, column, progress);
    return;
  }
  const NpyArray array = parse_vector(file);
  if ((array.type != "f4" && array.type != "f8") || !is_aligned(array)) {
    throw DataError(fmt::format("{}: expected float32 or float64, found type {}{}", path,
                                array.type, is_aligned(array) ? "" : ", not aligned to 8 bytes"));
  }
  if (array.type == "f4") {
    mapped_scores_ = elements<float>(array);
  } else {
    mapped_scores_ = elements<double>(array);
  }
  mapped_.emplace(std::move(file));
}

Scores ScoresFile::scores() const {
  return mapped_ ? mapped_scores_ : Scores(parsed_);
}

std::vector<std::uint32_t> read_integers(const std::string& path, std::string_view column,
                                         const Progress& progress) {
  check_integers_path(path);
  const InputFile file(path);
  if (is_text(path)) return read_integer_lines(file, column);
  return format_of(path) == Format::kCsv ? read_dense_csv<std::uint32_t>(file, column, progress)
                                         : narrow_integers(file);
}

void write_scores(const std::string& path, std::string_view column, Scores scores,
                  const Progress& progress) {
  scores.visit([&]<class T>(std::span<const T> values) {
    write_column(path, column, std::is_same_v<T, float> ? "f4" : "f8", values, progress);
  });
}

void write_integers(const std::string& path, std::string_view column,
                    std::span<const std::uint32_t> values, const Progress& progress) {
  write_column(path, column, "u4", values, progress);
}

void check_column_path(const std::string& path) {
  format_of(path);
}

void check_integers_path(const std::string& path) {
  if (is_text(path) || path.ends_with(".csv") || path.ends_with(".npy")) return;
  throw ConfigError(fmt::format("{}: the file name must end in .csv, .npy or .txt", path));
}

std::string place_of_example(const std::string& path, std::uint64_t example) {
  if (is_text(path)) return fmt::format("{}:{}", path, example + 1);
  if (format_of(path) == Format::kNpy) return fmt::format("{}: element {}", path, example);
  return fmt::format("{}:{}", path, find_csv_line(InputFile(path), example));
}

}  // namespace impart
