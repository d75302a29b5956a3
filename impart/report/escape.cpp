#include "impart/report/escape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace impart::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Bytes of the UTF-8 character at the front of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && byte(i) >> 6 == 0b10; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xC2 && byte(0) < 0xE0) return continues(1) ? 2 : 0;
  if (byte(0) >> 4 == 0b1110) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = byte(0) == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (byte(0) >= 0xF0 && byte(0) < 0xF5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = byte(0) == 0xF0 && byte(1) < 0x90;
    const bool too_large = byte(0) == 0xF4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

/// C1 controls (U+0080 … U+009F: some terminals obey them) and marks that turn the direction of
/// writing, which can make a line read as what it is not.
bool is_invisible_control(std::string_view character) {
  if (character.size() == 2 && character[0] == '\xC2') {
    return static_cast<unsigned char>(character[1]) < 0xA0;
  }
  if (character.size() != 3 || character[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(character[1]);
  const auto third = static_cast<unsigned char>(character[2]);
  if (second == 0x80) return (third >= 0x8E && third <= 0x8F) || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

/// Calls visit(character) for each character; what is not one, or controls something, comes as a
/// stand-in. A newline comes as it is if `keep_newlines`.
template <class Visit>
void visit_characters(std::string_view text, bool keep_newlines, Visit visit) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
    if (length == 0 || is_invisible_control(character)) {
      visit(kReplacement);
    } else if (character == "\n" && keep_newlines) {
      visit(character);
    } else if (character == "\n" || character == "\t" || character == "\r") {
      visit(std::string_view(" "));
    } else if (static_cast<unsigned char>(character[0]) < 0x20 || character[0] == 0x7F) {
      visit(kReplacement);
    } else {
      visit(character);
    }
  }
}

/// `replace` gives what stands for an ASCII character, or nothing to keep it.
template <class Replace>
std::string escaped(std::string_view text, bool keep_newlines, Replace replace) {
  std::string result;
  visit_characters(text, keep_newlines, [&](std::string_view character) {
    const std::string_view instead =
        character.size() == 1 ? replace(character[0]) : std::string_view();
    result += instead.empty() ? character : instead;
  });
  return result;
}

bool is_number(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace

std::string for_html(std::string_view text) {
  return escaped(text, true, [](char c) -> std::string_view {
    switch (c) {
      case '&':
        return "&amp;";
      case '<':
        return "&lt;";
      case '>':
        return "&gt;";
      case '"':
        return "&quot;";
      case '\'':
        return "&#39;";
      default:
        return "";
    }
  });
}

std::string for_markdown(std::string_view text) {
  std::string result;
  visit_characters(text, false, [&](std::string_view character) {
    constexpr std::string_view kMarkup = "\\`*_{}[]()#!|~$@:";
    if (character == "<") {
      result += "&lt;";
    } else if (character == ">") {
      result += "&gt;";
    } else if (character == "&") {
      result += "&amp;";
    } else {
      // Sentences end with a colon and hold brackets; only what starts markup gets a backslash.
      const bool harmless = character == ":" || character == "(" || character == ")";
      if (!harmless && kMarkup.find(character) != std::string_view::npos) result += '\\';
      result += character;
    }
  });
  return result;
}

std::string for_latex(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kCommands[] = {
      {"\\", "\\textbackslash{}"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"$", "\\$"},
      {"&", "\\&"},
      {"#", "\\#"},
      {"%", "\\%"},
      {"_", "\\_"},
      {"~", "\\textasciitilde{}"},
      {"^", "\\textasciicircum{}"},
      {"<", "\\textless{}"},
      {">", "\\textgreater{}"},
      {"\"", "\\textquotedbl{}"},
      {"`", "\\textasciigrave{}"},
      {"|", "\\textbar{}"},
      {"[", "{[}"},
      {"]", "{]}"},
      {"−", "$-$"},
      {"±", "$\\pm$"},
      {"×", "$\\times$"},
      {"–", "--"},
      {"…", "\\ldots{}"},
      {"µ", "$\\mu$"},
      {"\u202f", "\\,"},
      {kReplacement, "?"},
  };
  std::string result;
  visit_characters(text, false, [&](std::string_view character) {
    const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                     [&](const auto& one) { return one.first == character; });
    result += found == std::end(kCommands) ? character : found->second;
  });
  return result;
}

std::string for_csv(std::string_view text) {
  std::string field;
  const bool formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  if (formula && !is_number(text)) field += '\'';
  bool quote = false;
  visit_characters(text, true, [&](std::string_view character) {
    quote = quote || character == "," || character == "\"" || character == "\n";
    field += character == "\"" ? "\"\"" : character;
  });
  return quote ? fmt::format("\"{}\"", field) : field;
}

std::string for_gnuplot(std::string_view text, std::size_t most) {
  const std::string cut =
      shortened(escaped(text, false,
                        [](char c) -> std::string_view { return c == '`' ? "\xe2\x80\xb2" : ""; }),
                most);
  std::string result = "'";
  for (const char c : cut) {
    result += c;
    if (c == '\'') result += c;
  }
  return result + "'";
}

std::string for_terminal(std::string_view text) {
  return escaped(text, false, [](char) { return std::string_view(); });
}

std::string slug_of(std::string_view text) {
  std::string slug;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter) {
      slug += c;
    } else if (c >= 'A' && c <= 'Z') {
      slug += static_cast<char>(c - 'A' + 'a');
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "x" : slug;
}

std::size_t length_of(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text) length += (static_cast<unsigned char>(c) >> 6) != 0b10;
  return length;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (length_of(text) <= most) return std::string(text);
  std::size_t bytes = 0;
  for (std::size_t characters = 0; characters + 1 < most; ++characters) {
    bytes += character_length(text.substr(bytes));
  }
  return std::string(text.substr(0, bytes)) + "…";
}

}  // namespace impart::report
