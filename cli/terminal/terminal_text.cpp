#include "cli/terminal/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <sys/ioctl.h>

namespace impart::cli {
namespace {

struct CodePoint {
  char32_t value;      ///< 0 if the bytes are not UTF-8
  std::size_t length;  ///< bytes
};

CodePoint next_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {0, 1};
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 1};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, length};
}

struct Span {
  char32_t first, last;
};
constexpr std::array kSteering = {Span{0x00, 0x1F},     Span{0x7F, 0x9F},     Span{0x200B, 0x200F},
                                  Span{0x2028, 0x202E}, Span{0x2060, 0x206F}, Span{0xFEFF, 0xFEFF}};
constexpr std::array kWide = {Span{0x1100, 0x115F},   Span{0x2E80, 0xA4CF},  Span{0xAC00, 0xD7A3},
                              Span{0xF900, 0xFAFF},   Span{0xFE30, 0xFE6F},  Span{0xFF00, 0xFF60},
                              Span{0x1F300, 0x1FAFF}, Span{0x20000, 0x3FFFD}};
constexpr std::array kCombining = {Span{0x300, 0x36F}, Span{0x1AB0, 0x1AFF}, Span{0x20D0, 0x20FF},
                                   Span{0xFE00, 0xFE0F}};

template <std::size_t N>
bool is_in(const std::array<Span, N>& spans, char32_t value) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const Span& span) { return value >= span.first && value <= span.last; });
}

std::size_t columns_of_point(char32_t value) {
  if (is_in(kCombining, value)) return 0;
  return is_in(kWide, value) ? 2 : 1;
}

}  // namespace

std::string harmless(std::string_view text, std::string_view keep) {
  std::string clean;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const bool kept = point.length == 1 && keep.find(text[0]) != std::string_view::npos;
    if (kept || !is_in(kSteering, point.value)) {
      clean += text.substr(0, point.length);
    } else {
      clean += '?';
    }
    text.remove_prefix(point.length);
  }
  return clean;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    columns += columns_of_point(point.value);
    text.remove_prefix(point.length);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  const std::string clean = harmless(text);
  if (columns_of(clean) <= columns) return clean;
  if (columns == 0) return "";
  std::string start;
  std::size_t used = 0;
  for (std::string_view rest = clean; !rest.empty();) {
    const CodePoint point = next_code_point(rest);
    used += columns_of_point(point.value);
    if (used > columns - 1) break;
    start += rest.substr(0, point.length);
    rest.remove_prefix(point.length);
  }
  return start + "…";
}

std::string fit(std::string_view text, std::size_t columns) {
  std::string fitting = cut(text, columns);
  return fitting.append(columns - std::min(columns, columns_of(fitting)), ' ');
}

std::string fit_right(std::string_view text, std::size_t columns) {
  const std::string fitting = cut(text, columns);
  return std::string(columns - std::min(columns, columns_of(fitting)), ' ') + fitting;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace impart::cli
