#pragma once

#include <string>
#include <string_view>

namespace impart::report {

// Names, settings and reasons come from outside. Nothing of them goes into a file or onto a
// terminal but through one of these. All of them make invalid UTF-8 and control characters
// harmless: "�" or a blank stands for them.

/// For text and for attributes in double quotes.
std::string for_html(std::string_view text);

/// For running text and table cells: no markup, no raw HTML, one line.
std::string for_markdown(std::string_view text);

/// For running text and table cells of LaTeX (UTF-8).
std::string for_latex(std::string_view text);

/// One field. Text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a
/// carriage return) gets an apostrophe in front; numbers stay as they are.
std::string for_csv(std::string_view text);

/// A string of gnuplot in single quotes: no substitution, no enhanced text. Longer ones are cut to
/// `most` characters.
std::string for_gnuplot(std::string_view text, std::size_t most = 60);

/// For a terminal: no escape sequences, one line.
std::string for_terminal(std::string_view text);

/// Letters, digits and single dashes, for file names and ids; "x" if nothing is left.
std::string slug_of(std::string_view text);

/// The first `most` characters, with "…" if there were more. Takes and gives valid UTF-8.
std::string shortened(std::string_view text, std::size_t most);

/// Characters of valid UTF-8 text: what a table in a terminal aligns by.
std::size_t length_of(std::string_view text);

}  // namespace impart::report
