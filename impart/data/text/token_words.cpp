#include "impart/data/text/token_words.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace impart::data {
namespace {

enum class Kind : std::uint8_t { sign, letter, digit, space };

constexpr std::array<Kind, 256> make_kinds() {
  std::array<Kind, 256> kinds{};
  for (unsigned letter = 'a'; letter <= 'z'; ++letter) kinds[letter] = Kind::letter;
  for (unsigned letter = 'A'; letter <= 'Z'; ++letter) kinds[letter] = Kind::letter;
  for (unsigned byte = 0x80; byte < 256; ++byte) kinds[byte] = Kind::letter;
  for (unsigned digit = '0'; digit <= '9'; ++digit) kinds[digit] = Kind::digit;
  for (const char space : {' ', '\t', '\n', '\v', '\f', '\r'}) {
    kinds[static_cast<unsigned char>(space)] = Kind::space;
  }
  return kinds;
}
constexpr std::array<Kind, 256> kKinds = make_kinds();

Kind kind_of(char byte) {
  return kKinds[static_cast<unsigned char>(byte)];
}

/// Where the run of bytes of one kind ends that begins at `begin`.
std::size_t end_of_run(std::string_view text, std::size_t begin) {
  const Kind kind = kind_of(text[begin]);
  const std::size_t limit = std::min(text.size(), kLongestWord);
  std::size_t end = begin + 1;
  while (end < limit && kind_of(text[end]) == kind) ++end;
  return end;
}

std::size_t word_length(std::string_view text) {
  const bool blank_first = text.size() > 1 && text[0] == ' ' && kind_of(text[1]) != Kind::space;
  const std::size_t end = end_of_run(text, blank_first ? 1 : 0);
  const bool gives_blank_up = kind_of(text[0]) == Kind::space && !blank_first && end > 1 &&
                              end < text.size() && text[end - 1] == ' ' &&
                              kind_of(text[end]) != Kind::space;
  return gives_blank_up ? end - 1 : end;
}

}  // namespace

bool Words::next(std::string_view& word) {
  if (rest_.empty()) return false;
  word = rest_.substr(0, word_length(rest_));
  rest_.remove_prefix(word.size());
  return true;
}

}  // namespace impart::data
