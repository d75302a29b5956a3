#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace impart::report {

// A report before it has a format. Sections are built once and rendered as HTML, Markdown and
// LaTeX. All text here is plain: every renderer escapes it for its own format.

/// One cell of a table.
struct Cell {
  enum class Tone { kPlain, kBetter, kWorse, kMuted };

  std::string text;
  std::optional<double> value = {};  ///< what the cell sorts by; absent: its text
  Tone tone = Tone::kPlain;
  /// Background, -1 … 1: from the colour of losses to that of gains. 0: none.
  double shade = 0;
};

/// The head of a column of a table.
struct Column {
  std::string name;
  bool numeric = true;
  std::string meaning = {};  ///< shown where the pointer rests
};

/// A table.
struct Table {
  std::string caption;
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
  std::vector<std::string> notes = {};
  bool collapsed = false;  ///< HTML shows the caption until it is opened
  bool in_latex = true;    ///< whether anyone would put it into a paper
};

/// A picture: commands for gnuplot, without terminal and output.
struct Figure {
  std::string name;  ///< of its file, [a-z0-9-]
  std::string caption;
  std::string script = {};
  int width = 760;  ///< pixels
  int height = 420;
  std::string svg = {};  ///< what gnuplot made of it; empty if it could not
};

/// A paragraph.
struct Paragraph {
  std::string text;
  bool small = false;  ///< a remark
};

/// Text to be shown letter by letter, closed until it is opened.
struct Verbatim {
  std::string title;
  std::string text;
};

using Block = std::variant<Paragraph, Table, Figure, Verbatim>;

/// A part of a report under a heading.
struct Section {
  std::string id;  ///< [a-z-]
  std::string title;
  std::vector<Block> blocks = {};
};

/// What may be claimed about one group, in sentences; the first is the main one.
struct GroupVerdict {
  std::string group;
  std::vector<std::string> sentences = {};
};

/// A report before it is rendered: plain text in blocks.
struct Document {
  std::string title;
  std::string subtitle = {};
  std::string headline = {};  ///< the verdict over all groups, in one sentence
  std::vector<GroupVerdict> verdicts = {};
  std::vector<Section> sections = {};
};

}  // namespace impart::report
