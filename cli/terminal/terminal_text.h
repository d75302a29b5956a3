#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace impart::cli {

/// The text with everything that could steer a terminal (control characters, also those of
/// Unicode, and marks that turn the direction of writing) made visible as "?"; `keep` are control
/// characters that may stay. What is not UTF-8 becomes "?", too.
std::string harmless(std::string_view text, std::string_view keep = "");

/// Columns that harmless text takes on a terminal.
std::size_t columns_of(std::string_view text);

/// Harmless text in exactly `columns`: cut with "…", or filled with blanks on the right, or on the
/// left.
std::string fit(std::string_view text, std::size_t columns);
std::string fit_right(std::string_view text, std::size_t columns);

/// Harmless text in at most `columns`.
std::string cut(std::string_view text, std::size_t columns);

/// "1h05m", "2m07s", "31s"
std::string duration_text(double seconds);

struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};
/// Of the terminal behind a descriptor; 80 x 24 if it does not say.
TerminalSize terminal_size(int descriptor);

}  // namespace impart::cli
