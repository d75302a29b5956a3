#pragma once

#include <cstdint>
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

/// What is shown where the pointer rests on a dot of a figure.
struct DotNote {
  std::uint64_t id = 0;
  std::uint32_t label = 0;  ///< an index of HoverNotes::labels
};

/// Notes for the dots of a figure, in the order in which they are drawn.
struct HoverNotes {
  std::string pictures = {};  ///< the Gallery::pictures whose tiles show the same examples
  std::vector<std::string> labels = {};
  std::vector<DotNote> dots = {};
};

/// A picture: commands for gnuplot, without terminal and output. They are run twice: `narrow` is 1
/// where the picture is for a small screen, and 0 where it is as wide as it says.
struct Figure {
  std::string name;  ///< of its file, [a-z0-9-]
  std::string caption;
  std::string script = {};
  int width = 760;  ///< pixels
  int height = 420;
  HoverNotes hover = {};
  std::string svg = {};     ///< what gnuplot made of it; empty if it could not
  std::string narrow = {};  ///< the same for a small screen
};

/// A small picture of one example, with what there is to say about it.
struct Thumbnail {
  std::uint64_t id = 0;
  std::string png = {};
  std::string label = {};
  std::string prediction = {};  ///< "" if it is not known
  std::string place = {};       ///< "worker 2"; "" if it is not known
};

inline bool is_mistaken(const Thumbnail& tile) {
  return !tile.prediction.empty() && tile.prediction != tile.label;
}

/// Tiles that belong together.
struct ThumbnailRow {
  std::string title;  ///< "hardest"; "" if the caption says it
  std::vector<Thumbnail> tiles = {};
};

/// Pictures of examples.
struct Gallery {
  std::string caption;
  std::string pictures = {};  ///< which data set they are of: [a-z0-9-]
  std::vector<ThumbnailRow> rows = {};
  bool collapsed = false;  ///< HTML shows the caption until it is opened
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

using Block = std::variant<Paragraph, Table, Figure, Gallery, Verbatim>;

/// A part of a report under a heading.
struct Section {
  std::string id;  ///< [a-z-]
  std::string title;
  std::vector<Block> blocks = {};
  bool folded = false;  ///< HTML shows the title until it is opened
};

/// A number that a reader takes home, and what it is of.
struct KeyFigure {
  std::string value;
  std::string meaning;
  Cell::Tone tone = Cell::Tone::kPlain;
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
  std::vector<KeyFigure> key_figures = {};
  std::optional<Block> lead = {};  ///< a copy of the picture that HTML shows first
  std::vector<Section> sections = {};
};

}  // namespace impart::report
