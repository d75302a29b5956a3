#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "impart/data/text/tokenizer.h"

namespace impart::data {

/// Hands out the characters of a text, which must be UTF-8 as Unicode defines it: no overlong
/// forms, no surrogates, nothing beyond U+10FFFF.
class Characters {
 public:
  Characters(std::string_view text, const TextPlace& place) : text_(text), place_(place) {}

  /// False at the end. DataError with the offset of bytes that are not UTF-8.
  bool next(std::uint32_t& character);
  /// Where the character lies that was handed out last.
  std::uint64_t offset() const { return place_.offset + begin_; }

 private:
  [[noreturn]] void refuse() const;

  std::string_view text_;
  TextPlace place_;
  std::size_t begin_ = 0, end_ = 0;
};

/// Whether a code point is one that UTF-8 can hold.
bool is_character(std::uint32_t code_point);

/// A character as UTF-8.
std::string utf8_of(std::uint32_t character);

}  // namespace impart::data
