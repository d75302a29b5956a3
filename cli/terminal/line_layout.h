#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/terminal/terminal.h"

namespace impart::cli {

/// A part of a line. Harmless text.
struct LineField {
  std::string text;
  int rank = 0;                  ///< parts of a lower rank are shown first, where there is room
  std::string_view colour = "";  ///< see coloured()
  bool is_bar = false;           ///< `share` as a bar, which takes the room that is left
  double share = 0;              ///< 0 to 1
};

/// The parts in their order, in at most `columns`: as many as there is room for, those of the
/// lowest rank first. The first of them is cut if there is no room even for it.
std::string lay_out(std::span<const LineField> fields, std::size_t columns,
                    const Terminal& terminal);

/// "━━━━╸    ", or "####     " without UTF-8, in exactly `columns`.
std::string bar_text(double share, std::size_t columns, bool utf8);

}  // namespace impart::cli
