#include "impart/data/text/rows.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

char separator_of(const std::string& path) {
  if (path.ends_with(".tsv")) return '\t';
  if (path.ends_with(".csv")) return ',';
  throw ConfigError(fmt::format("{}: a table's name must end in .tsv or .csv", path));
}

/// Takes a table apart into fields. With commas, fields may be quoted.
class FieldReader {
 public:
  FieldReader(const InputFile& file, std::deque<std::string>& unquoted)
      : path_(file.path()),
        text_(file.text()),
        separator_(separator_of(path_)),
        unquoted_(unquoted) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  /// False at the end. Blank lines are passed over.
  bool next_row(std::vector<TextField>& fields) {
    fields.clear();
    while (at_line_end()) pass_line_end();
    if (at_ == text_.size()) return false;
    row_line_ = line_;
    while (true) {
      fields.push_back(is_quoted() ? quoted_field() : plain_field());
      if (at_ == text_.size()) return true;
      if (at_line_end()) break;
      ++at_;  // the separator
    }
    pass_line_end();
    return true;
  }

  /// Where the row began that was read last.
  std::uint64_t row_line() const { return row_line_; }

  [[noreturn]] void fail(std::uint64_t line, std::string_view what) const {
    throw DataError(fmt::format("{}:{}: {}", path_, line, what));
  }

 private:
  bool at_line_end() const {
    const std::string_view rest = text_.substr(at_, 2);
    return rest.starts_with('\n') || rest == "\r\n";
  }
  void pass_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }

  bool is_quoted() const { return separator_ == ',' && at_ < text_.size() && text_[at_] == '"'; }

  TextField plain_field() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) {
      if (separator_ == ',' && text_[at_] == '"') {
        fail(line_,
             fmt::format("a quote inside a field that does not begin with one (byte {})", at_));
      }
      ++at_;
    }
    return {.text = text_.substr(begin, at_ - begin), .offset = begin};
  }

  TextField quoted_field() {
    const std::size_t begin = ++at_;
    const std::uint64_t opened = line_;
    bool holds_quotes = false;
    while (true) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) fail(opened, "a quote is opened here and never closed");
      line_ += static_cast<std::uint64_t>(
          std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                     text_.begin() + static_cast<std::ptrdiff_t>(quote), '\n'));
      at_ = quote + 1;
      if (text_.substr(at_, 1) != "\"") break;
      holds_quotes = true;
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) {
      fail(line_, fmt::format("text after a closing quote (byte {})", at_));
    }
    const std::string_view text = text_.substr(begin, at_ - 1 - begin);
    return {.text = holds_quotes ? without_doubled_quotes(text) : text, .offset = begin};
  }

  std::string_view without_doubled_quotes(std::string_view text) {
    std::string& single = unquoted_.emplace_back();
    for (std::size_t i = 0; i < text.size(); ++i) {
      single += text[i];
      if (text[i] == '"') ++i;
    }
    return single;
  }

  std::string path_;
  std::string_view text_;
  char separator_;
  std::deque<std::string>& unquoted_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1, row_line_ = 1;
};

/// Where the wanted columns stand in a row.
struct Layout {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t fields = 0, text = kNone, label = kNone;
};

Layout find_columns(const FieldReader& reader, std::span<const TextField> header,
                    const TextColumns& columns) {
  std::vector<std::string_view> names;
  for (const TextField& field : header) names.push_back(field.text);
  const auto position = [&](std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? Layout::kNone : static_cast<std::size_t>(found - names.begin());
  };
  Layout layout{.fields = header.size()};
  for (const std::string& name : columns.text) {
    if (layout.text == Layout::kNone) layout.text = position(name);
  }
  if (!columns.label.empty()) layout.label = position(columns.label);
  if (layout.text == Layout::kNone) {
    reader.fail(reader.row_line(),
                fmt::format("no column {}; the first line has: {}", fmt::join(columns.text, ", "),
                            fmt::join(names, ", ")));
  }
  if (!columns.label.empty() && layout.label == Layout::kNone) {
    reader.fail(reader.row_line(), fmt::format("no column {}; the first line has: {}",
                                               columns.label, fmt::join(names, ", ")));
  }
  return layout;
}

}  // namespace

TextRows::TextRows(const std::string& path, const TextColumns& columns) : file_(path) {
  FieldReader reader(file_, unquoted_);
  std::vector<TextField> fields;
  if (!reader.next_row(fields)) reader.fail(1, "empty; expected a line with the names of columns");
  const Layout layout = find_columns(reader, fields, columns);
  while (reader.next_row(fields)) {
    const std::uint64_t line = reader.row_line();
    if (fields.size() != layout.fields) {
      reader.fail(line, fmt::format("{} fields instead of {}", fields.size(), layout.fields));
    }
    TextRow row{.line = line, .text = fields[layout.text], .label = {}};
    if (row.text.text.empty()) reader.fail(line, "the text is empty");
    if (layout.label != Layout::kNone) row.label = fields[layout.label];
    if (layout.label != Layout::kNone && row.label.text.empty()) {
      reader.fail(line, "the label is empty");
    }
    rows_.push_back(row);
  }
  if (rows_.empty()) reader.fail(1, "no rows after the names of columns");
}

}  // namespace impart::data
