#include "impart/data/text/token_chars.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/text/token_kinds.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kEndOfUnicode = 0x110000;

std::vector<std::string> pieces_of(std::span<const std::uint32_t> characters) {
  std::vector<std::string> pieces;
  for (std::size_t k = 0; k < characters.size(); ++k) {
    if (!is_character(characters[k])) {
      throw ConfigError(fmt::format("{} is no character", characters[k]));
    }
    if (k > 0 && characters[k] <= characters[k - 1]) {
      throw ConfigError(
          fmt::format("character {} after {}: not ascending", characters[k], characters[k - 1]));
    }
    pieces.push_back(utf8_of(characters[k]));
  }
  return pieces;
}

class CharTokenizer final : public Tokenizer {
 public:
  CharTokenizer(std::span<const std::uint32_t> characters, bool end_of_text)
      : Tokenizer(pieces_of(characters), end_of_text),
        characters_(characters.begin(), characters.end()) {
    ascii_.fill(kNone);
    for (std::size_t k = 0; k < characters.size(); ++k) {
      if (characters[k] < ascii_.size()) ascii_[characters[k]] = static_cast<int>(k);
    }
  }

  std::string_view kind() const override { return "char"; }

  void append_tokens(std::string_view text, const TextPlace& place,
                     std::vector<Token>& tokens) const override {
    Characters reader(text, place);
    std::uint32_t character = 0;
    while (reader.next(character)) {
      const int token = find(character);
      if (token == kNone) {
        throw DataError(fmt::format("{}: byte {}: character U+{:04X} is not in the vocabulary",
                                    place.path, reader.offset(), character));
      }
      tokens.push_back(static_cast<Token>(token));
    }
  }

  std::vector<std::string> rows() const override {
    std::vector<std::string> rows;
    for (const std::uint32_t character : characters_) rows.push_back(fmt::to_string(character));
    return rows;
  }

 private:
  static constexpr int kNone = -1;

  int find(std::uint32_t character) const {
    if (character < ascii_.size()) return ascii_[character];
    const auto found = std::lower_bound(characters_.begin(), characters_.end(), character);
    if (found == characters_.end() || *found != character) return kNone;
    return static_cast<int>(found - characters_.begin());
  }

  std::vector<std::uint32_t> characters_;
  std::array<int, 128> ascii_;
};

}  // namespace

bool is_character(std::uint32_t code_point) {
  return code_point < kEndOfUnicode && (code_point < 0xD800 || code_point > 0xDFFF);
}

bool Characters::next(std::uint32_t& character) {
  begin_ = end_;
  if (begin_ == text_.size()) return false;
  const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(text_[at]); };
  const unsigned char lead = byte(begin_);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                                           : 4;
  if (length == 0 || lead > 0xF4 || length > text_.size() - begin_) refuse();
  constexpr std::array<unsigned char, 5> kLeadBits = {0, 0x7F, 0x1F, 0x0F, 0x07};
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  character = lead & kLeadBits[length];
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(begin_ + k) & 0xC0) != 0x80) refuse();
    character = (character << 6) | (byte(begin_ + k) & 0x3F);
  }
  if (character < kSmallest[length] || !is_character(character)) refuse();
  end_ = begin_ + length;
  return true;
}

void Characters::refuse() const {
  throw DataError(fmt::format(
      "{}: byte {}: not UTF-8, which the tokenizer 'char' needs ('byte' and 'bpe' take any bytes)",
      place_.path, offset()));
}

std::string utf8_of(std::uint32_t character) {
  const auto tail = [&](int shift) {
    return static_cast<char>(0x80 | ((character >> shift) & 0x3F));
  };
  if (character < 0x80) return {static_cast<char>(character)};
  if (character < 0x800) return {static_cast<char>(0xC0 | (character >> 6)), tail(0)};
  if (character < 0x10000) return {static_cast<char>(0xE0 | (character >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (character >> 18)), tail(12), tail(6), tail(0)};
}

TokenizerPtr char_tokenizer(std::span<const std::uint32_t> characters, bool end_of_text) {
  return std::make_shared<CharTokenizer>(characters, end_of_text);
}

TokenizerPtr make_char_tokenizer(std::span<const CorpusText> corpus, const TokenizerSpec& spec) {
  std::vector<bool> seen(kEndOfUnicode);
  for (const CorpusText& part : corpus) {
    Characters reader(part.text, part.place);
    std::uint32_t character = 0;
    while (reader.next(character)) seen[character] = true;
  }
  std::vector<std::uint32_t> characters;
  for (std::uint32_t character = 0; character < kEndOfUnicode; ++character) {
    if (seen[character]) characters.push_back(character);
  }
  return char_tokenizer(characters, spec.end_of_text);
}

}  // namespace impart::data
