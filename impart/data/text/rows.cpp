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
  FieldReader(const InputFile& file, std::deque<std::string>& made)
      : path_(file.path()), text_(file.text()), separator_(separator_of(path_)), made_(made) {
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
    std::string& single = made_.emplace_back();
    for (std::size_t i = 0; i < text.size(); ++i) {
      single += text[i];
      if (text[i] == '"') ++i;
    }
    return single;
  }

  std::string path_;
  std::string_view text_;
  char separator_;
  std::deque<std::string>& made_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1, row_line_ = 1;
};

constexpr std::string_view kUsualTexts[] = {"text", "sentence", "content", "review"};

bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The names of columns that are asked for, or would do.
std::vector<std::string_view> wanted_names(const TextColumns& columns) {
  std::vector<std::string_view> names(columns.text.begin(), columns.text.end());
  if (names.empty()) names.assign(std::begin(kUsualTexts), std::end(kUsualTexts));
  if (!columns.label.empty()) names.push_back(columns.label);
  return names;
}

/// A number is no sign of a line of names: labels are numbers, too.
bool has_wanted_name(std::span<const TextField> first, const TextColumns& columns) {
  const std::vector<std::string_view> wanted = wanted_names(columns);
  return std::ranges::any_of(first, [&](const TextField& field) {
    return !is_number(field.text) && std::ranges::find(wanted, field.text) != wanted.end();
  });
}

/// Whether the columns can be found without names.
bool can_do_without_names(std::size_t fields, const TextColumns& columns) {
  const bool has_label = !columns.label.empty();
  if (has_label && !is_number(columns.label)) return false;
  if (columns.text.empty()) return fields == (has_label ? 2 : 1);
  return std::ranges::all_of(columns.text, is_number);
}

bool has_names(std::span<const TextField> first, const TextColumns& columns) {
  if (columns.header != HeaderLine::kGuess) return columns.header == HeaderLine::kYes;
  return has_wanted_name(first, columns) || !can_do_without_names(first.size(), columns);
}

std::vector<std::string> column_names(std::span<const TextField> first, bool are_named) {
  std::vector<std::string> names;
  for (const TextField& field : first) {
    names.push_back(are_named ? std::string(field.text) : std::to_string(names.size() + 1));
  }
  return names;
}

/// Where the wanted columns stand in a row.
struct Layout {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t fields = 0;
  std::vector<std::size_t> texts = {};
  std::size_t label = kNone;
};

class ColumnFinder {
 public:
  ColumnFinder(const FieldReader& reader, std::span<const TextField> first,
               const TextColumns& columns)
      : reader_(reader),
        columns_(columns),
        are_named_(has_names(first, columns)),
        is_unsure_(columns.header == HeaderLine::kGuess && !has_wanted_name(first, columns)),
        names_(column_names(first, are_named_)) {}

  bool are_named() const { return are_named_; }
  bool guessed_a_row() const { return is_unsure_ && !are_named_; }

  Layout find() const {
    Layout layout{.fields = names_.size()};
    for (const std::string& name : columns_.text) layout.texts.push_back(require(name));
    if (columns_.text.empty()) layout.texts.push_back(usual_text());
    if (!columns_.label.empty()) layout.label = require(columns_.label);
    return layout;
  }

 private:
  std::size_t position(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? Layout::kNone : static_cast<std::size_t>(found - names_.begin());
  }

  std::size_t require(std::string_view name) const {
    const std::size_t found = position(name);
    if (found == Layout::kNone) fail_without(name);
    return found;
  }

  std::size_t usual_text() const {
    if (are_named_) {
      for (const std::string_view name : kUsualTexts) {
        if (const std::size_t found = position(name); found != Layout::kNone) return found;
      }
      fail_without(fmt::to_string(fmt::join(kUsualTexts, ", ")));
    }
    const std::size_t label = columns_.label.empty() ? Layout::kNone : require(columns_.label);
    if (names_.size() != (label == Layout::kNone ? 1 : 2)) {
      reader_.fail(reader_.row_line(),
                   fmt::format("which of the {} columns is the text? Give data.text_column=NUMBER",
                               names_.size()));
    }
    return label == 0 ? 1 : 0;
  }

  [[noreturn]] void fail_without(std::string_view name) const {
    const std::string has = are_named_
                                ? fmt::format("the first line has: {}", fmt::join(names_, ", "))
                                : fmt::format("without names they are 1 to {}", names_.size());
    reader_.fail(reader_.row_line(),
                 fmt::format("no column {}; {}{}", name, has,
                             is_unsure_ && are_named_
                                 ? "; if that is a row like the others, columns are numbers: "
                                   "data.text_column=1"
                                 : ""));
  }

  const FieldReader& reader_;
  const TextColumns& columns_;
  bool are_named_;
  bool is_unsure_;  ///< nothing in the first line tells whether it names columns
  std::vector<std::string> names_;
};

/// One text of several columns. Empty ones leave no trace.
TextField joined_text(std::span<const TextField> fields, const Layout& layout,
                      std::deque<std::string>& made) {
  const TextField& first = fields[layout.texts.front()];
  if (layout.texts.size() == 1) return first;
  std::string& text = made.emplace_back();
  for (const std::size_t column : layout.texts) {
    if (!text.empty() && !fields[column].text.empty()) text += ' ';
    text += fields[column].text;
  }
  return {.text = text, .offset = first.offset};
}

TextRow row_of(const FieldReader& reader, std::span<const TextField> fields, const Layout& layout,
               std::deque<std::string>& made) {
  const std::uint64_t line = reader.row_line();
  if (fields.size() != layout.fields) {
    reader.fail(line, fmt::format("{} field{} instead of {}", fields.size(),
                                  fields.size() == 1 ? "" : "s", layout.fields));
  }
  TextRow row{.line = line, .text = joined_text(fields, layout, made), .label = {}};
  if (row.text.text.empty()) reader.fail(line, "the text is empty");
  if (layout.label == Layout::kNone) return row;
  row.label = fields[layout.label];
  if (row.label.text.empty()) reader.fail(line, "the label is empty");
  return row;
}

}  // namespace

TextRows::TextRows(const std::string& path, const TextColumns& columns) : file_(path) {
  FieldReader reader(file_, made_);
  std::vector<TextField> fields;
  if (!reader.next_row(fields)) reader.fail(1, "empty; expected a line with the names of columns");
  const ColumnFinder finder(reader, fields, columns);
  const Layout layout = finder.find();
  if (finder.guessed_a_row()) {
    note_ = fmt::format(
        "{}: the first line names no column that was asked for, so it is read as a row; "
        "data.header=true if it does name columns",
        path);
  }
  for (bool is_row = finder.are_named() ? reader.next_row(fields) : true; is_row;
       is_row = reader.next_row(fields)) {
    rows_.push_back(row_of(reader, fields, layout, made_));
  }
  if (rows_.empty()) reader.fail(1, "no rows after the names of columns");
}

}  // namespace impart::data
