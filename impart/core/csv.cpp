#include "impart/core/csv.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"

namespace impart {
namespace {

constexpr std::uint64_t kLinesPerReport = 1 << 16;

std::string_view trim(std::string_view text) {
  const auto is_padding = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_padding(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_padding(text.back())) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

/// Hands out the lines of a text one after the other, with their numbers from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // byte-order mark
  }

  /// False at the end. Lines that hold nothing are passed over.
  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (!line.empty() && line != "\r") return true;
    }
    return false;
  }
  std::uint64_t number() const { return number_; }
  std::uint64_t bytes_left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  std::uint64_t number_ = 0;
};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Which fields of a line hold the id and the value.
struct Layout {
  std::size_t id = 0;
  std::size_t value = 0;
};

Layout find_columns(const std::string& path, std::string_view header, std::string_view column) {
  const auto fields = split(header);
  const auto position = [&](std::string_view name) {
    const auto found = std::find(fields.begin(), fields.end(), name);
    if (found == fields.end()) {
      throw DataError(fmt::format("{}:1: no column '{}'; the header has: {}", path, name,
                                  fmt::join(fields, ", ")));
    }
    return static_cast<std::size_t>(found - fields.begin());
  };
  return {position("id"), position(column)};
}

/// The two fields of a line that count; empty ones if the line is too short.
std::pair<std::string_view, std::string_view> pick(std::string_view line, const Layout& layout) {
  std::pair<std::string_view, std::string_view> picked;
  const std::size_t last = std::max(layout.id, layout.value);
  for (std::size_t field = 0; field <= last; ++field) {
    const std::size_t comma = line.find(',');
    if (field == layout.id) picked.first = trim(line.substr(0, comma));
    if (field == layout.value) picked.second = trim(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return picked;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::uint64_t first_line_with(const InputFile& file, const Layout& layout, std::uint64_t id) {
  Lines lines(file.text());
  std::string_view line;
  lines.next(line);
  while (lines.next(line)) {
    std::uint64_t found = 0;
    if (parse_number(pick(line, layout).first, found) && found == id) return lines.number();
  }
  return 0;
}

/// The smallest id below `rows` that stands on no line.
std::uint64_t first_missing_id(const InputFile& file, const Layout& layout, std::uint64_t rows) {
  std::vector<bool> present(rows);
  Lines lines(file.text());
  std::string_view line;
  lines.next(line);
  while (lines.next(line)) {
    std::uint64_t id = 0;
    if (parse_number(pick(line, layout).first, id) && id < rows) present[id] = true;
  }
  return static_cast<std::uint64_t>(std::find(present.begin(), present.end(), false) -
                                    present.begin());
}

}  // namespace

std::vector<std::string> split_csv_line(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_quote = line[i] == '"';
    if (is_quote && quoted && line.substr(i + 1).starts_with('"')) {
      fields.back() += line[i++];
    } else if (is_quote) {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  if (quoted) throw DataError("a quote is not closed");
  return fields;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

template <class T>
std::vector<T> read_dense_csv(const InputFile& file, std::string_view column,
                              const Progress& progress) {
  const auto error_at = [&](std::uint64_t line, const std::string& what) {
    return DataError(fmt::format("{}:{}: {}", file.path(), line, what));
  };
  Lines counting(file.text());
  std::string_view line;
  if (!counting.next(line))
    throw error_at(1, fmt::format("empty; expected a header 'id,{}'", column));
  const Layout layout = find_columns(file.path(), line, column);
  std::uint64_t rows = 0;
  while (counting.next(line)) ++rows;

  std::vector<T> values(rows);
  std::vector<bool> seen(rows);
  Lines lines(file.text());
  lines.next(line);
  const std::uint64_t total = lines.bytes_left();
  for (std::uint64_t row = 0; row < rows; ++row) {
    lines.next(line);
    const auto [id_text, value_text] = pick(line, layout);
    std::uint64_t id = 0;
    if (!parse_number(id_text, id)) {
      throw error_at(lines.number(), fmt::format("id '{}' is not a whole number from 0", id_text));
    }
    T value{};
    if (!parse_number(value_text, value)) {
      throw error_at(lines.number(),
                     fmt::format("{} '{}' is not a {}", column, value_text,
                                 std::is_floating_point_v<T> ? "number" : "whole number from 0"));
    }
    if (id < rows && seen[id]) {
      throw error_at(lines.number(), fmt::format("id {} is a duplicate; it was on line {} already",
                                                 id, first_line_with(file, layout, id)));
    }
    if (id >= rows) {
      throw error_at(lines.number(),
                     fmt::format("id {} with only {} rows: ids must be 0..{}, and id {} is missing",
                                 id, rows, rows - 1, first_missing_id(file, layout, rows)));
    }
    seen[id] = true;
    values[id] = value;
    if (progress && row % kLinesPerReport == 0) progress(total - lines.bytes_left(), total);
  }
  return values;
}

std::uint64_t find_csv_line(const InputFile& file, std::uint64_t id) {
  Lines lines(file.text());
  std::string_view header;
  if (!lines.next(header)) return 0;
  return first_line_with(file, find_columns(file.path(), header, "id"), id);
}

std::vector<std::uint32_t> read_integer_lines(const InputFile& file, std::string_view called) {
  std::vector<std::uint32_t> values;
  Lines lines(file.text());
  std::string_view line;
  while (lines.next(line)) {
    std::uint32_t value = 0;
    if (lines.number() != values.size() + 1) {
      throw DataError(fmt::format("{}:{}: empty; line {} would belong to another example",
                                  file.path(), values.size() + 1, lines.number()));
    }
    if (!parse_number(trim(line), value)) {
      throw DataError(fmt::format("{}:{}: {} '{}' is not a whole number from 0", file.path(),
                                  lines.number(), called, trim(line)));
    }
    values.push_back(value);
  }
  return values;
}

template std::vector<double> read_dense_csv(const InputFile&, std::string_view, const Progress&);
template std::vector<std::uint32_t> read_dense_csv(const InputFile&, std::string_view,
                                                   const Progress&);

}  // namespace impart
