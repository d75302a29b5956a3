#include "cli/terminal/terminal.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

using namespace std::chrono_literals;

/// Whoever drags the border of a window changes its size many times, and tmux says so only every
/// 250 ms. Lines painted for an earlier size would be broken, and where they begin would be
/// unknown.
constexpr auto kResizeTime = 300ms;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As the C library decides: the first that is set.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (locale.empty()) continue;
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

/// Most terminals break lines that have become too long; xterm cuts them.
bool breaks_lines_when_resized() {
  return environment("XTERM_VERSION").empty();
}

}  // namespace

Terminal look_at_terminal() {
  Terminal terminal;
  terminal.paints = ::isatty(STDERR_FILENO) != 0 && environment("TERM") != "dumb";
  terminal.has_colours = terminal.paints && environment("NO_COLOR").empty();
  terminal.has_utf8 = locale_is_utf8();
  return terminal;
}

std::string coloured(const Terminal& terminal, std::string_view code, std::string_view text) {
  if (!terminal.has_colours || code.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::size_t visible_columns(std::string_view text) {
  std::size_t columns = 0;
  while (true) {
    const std::size_t escape = text.find('\x1b');
    columns += columns_of(text.substr(0, escape));
    const std::size_t end = escape == std::string_view::npos ? escape : text.find('m', escape);
    if (end == std::string_view::npos) return columns;
    text.remove_prefix(end + 1);
  }
}

/// The cursor stands at the end of the last line.
std::string Painting::back_to_start() const {
  if (painted_.empty()) return "";
  std::size_t rows = painted_.size();
  if (breaks_lines_when_resized()) {
    const std::size_t columns = terminal_size(STDERR_FILENO).columns;
    rows = 0;
    for (const std::string& line : painted_) {
      rows += std::max<std::size_t>(1, (visible_columns(line) + columns - 1) / columns);
    }
  }
  return rows > 1 ? fmt::format("\r\x1b[{}A", rows - 1) : "\r";
}

bool Painting::is_being_resized() {
  const std::size_t columns = terminal_size(STDERR_FILENO).columns;
  if (columns_ != 0 && columns != columns_) resized_at_ = Clock::now();
  columns_ = columns;
  return Clock::now() - resized_at_ < kResizeTime;
}

void Painting::paint(const std::vector<std::string>& lines) {
  if (is_being_resized()) return;
  std::string text = back_to_start();
  // A row is erased before it is written: what was only erased behind its text would still count as
  // text when tmux breaks it.
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += fmt::format("{}\x1b[2K{}", i == 0 ? "" : "\r\n", lines[i]);
  }
  say_text(text + "\x1b[J");
  painted_ = lines;
}

void Painting::clear() {
  if (painted_.empty()) return;
  say_text(back_to_start() + "\x1b[J");
  painted_.clear();
}

}  // namespace impart::cli
