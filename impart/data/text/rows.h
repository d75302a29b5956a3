#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/file.h"

namespace impart::data {

/// A field of a table.
struct TextField {
  std::string_view text;     ///< without the quotes around it
  std::uint64_t offset = 0;  ///< where the text begins in the file
};

struct TextRow {
  std::uint64_t line = 0;  ///< from 1, where the row begins
  TextField text, label;   ///< the label is empty if no column of labels is asked for
};

/// Whether the first line of a table names its columns.
enum class HeaderLine {
  kGuess,  ///< it does unless it has none of the names asked for, and could be a row
  kYes,
  kNo,
};

/// Which columns of a table: names of the first line, or numbers from 1 if that is a row.
struct TextColumns {
  /// Joined by spaces. Empty: text, sentence, content or review, whichever is there; without names,
  /// the only one that is not the label.
  std::vector<std::string> text = {};
  std::string label = {};  ///< empty: none
  HeaderLine header = HeaderLine::kGuess;
};

/// Texts in the rows of a file. The file's name tells the format:
///   .tsv  fields are separated by tabs, rows by line ends; quotes are letters like others;
///   .csv  RFC 4180: fields are separated by commas; a field in "quotes" may hold commas, line ends
///         and quotes, which are then written twice.
/// A byte-order mark, CRLF and blank lines are fine. Bytes, NUL included, are taken as they are.
class TextRows {
 public:
  /// Reads and checks all of it. DataError with path and line if a column is missing, a row has
  /// more or fewer fields than the first line, a text or label is empty, quotes are wrong, or there
  /// is no row; ConfigError if the name ends otherwise.
  TextRows(const std::string& path, const TextColumns& columns);

  const std::string& path() const { return file_.path(); }
  /// Views of the table, good as long as it is.
  std::span<const TextRow> rows() const { return rows_; }
  /// A sentence if the first line was guessed to be a row; else empty.
  const std::string& note() const { return note_; }

 private:
  InputFile file_;
  std::deque<std::string> made_;  ///< fields that held quotes, and texts of several columns
  std::vector<TextRow> rows_;
  std::string note_;
};

}  // namespace impart::data
