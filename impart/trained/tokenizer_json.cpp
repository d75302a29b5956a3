#include "impart/trained/tokenizer_json.h"

#include <array>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/data/text/token_chars.h"
#include "impart/data/text/token_words.h"

namespace impart::trained {
namespace {

using Json = nlohmann::ordered_json;

/// GPT-2's characters for bytes: printable ones stand for themselves, the others, in their order,
/// for the characters from U+0100 on.
std::array<std::string, 256> make_byte_characters() {
  std::array<std::string, 256> characters;
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    characters[byte] = data::utf8_of(is_printable ? byte : next++);
  }
  return characters;
}

const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> characters = make_byte_characters();
  return characters;
}

std::string byte_level(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += byte_characters()[static_cast<unsigned char>(byte)];
  return text;
}

/// Of the bytes from `first` to `last`.
std::string characters_of(int first, int last) {
  std::string text;
  for (int byte = first; byte <= last; ++byte) text += byte_characters()[byte];
  return text;
}

/// The words of token_words.h, where the text is written in characters for bytes: L letters, D
/// digits, S white space, X all else. A word has 64 bytes at most, its blank included; white space
/// leaves a last blank to the word behind it.
std::string word_pattern() {
  const std::string letters = "A-Za-z" + characters_of(0x80, 0xFF);
  const std::string spaces = characters_of(0x09, 0x0D) + byte_characters()[' '];
  const std::string kinds[] = {fmt::format("[{}]", letters), "[0-9]",
                               fmt::format("[^{}0-9{}]", letters, spaces)};
  const std::string& blank = byte_characters()[' '];
  std::string pattern;
  for (const std::string& kind : kinds) {
    pattern += fmt::format("{}{}{{1,{}}}|", blank, kind, data::kLongestWord - 1);
  }
  for (const std::string& kind : kinds) {
    pattern += fmt::format("{}{{1,{}}}|", kind, data::kLongestWord);
  }
  pattern += fmt::format("[{0}]{{1,{1}}}(?={2}[^{0}])|[{0}]{{1,{3}}}", spaces,
                         data::kLongestWord - 1, blank, data::kLongestWord);
  return pattern;
}

Json byte_level_step() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", false}};
}

Json word_steps() {
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", word_pattern()}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  Json steps = Json::array();
  steps.push_back(byte_level_step());
  steps.push_back(split);
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

std::string written(const data::Tokenizer& tokenizer, data::Token token) {
  if (token == tokenizer.end_of_text()) return kEndOfText;
  const std::string_view piece = tokenizer.piece(token);
  return tokenizer.kind() == "char" ? std::string(piece) : byte_level(piece);
}

Json vocabulary_of(const data::Tokenizer& tokenizer) {
  Json::object_t vocabulary;  // filled from behind: its own search for a name is linear
  std::map<std::string, std::uint32_t> seen;
  for (std::uint32_t token = 0; token < tokenizer.vocabulary(); ++token) {
    const std::string text = written(tokenizer, static_cast<data::Token>(token));
    const auto [other, is_new] = seen.emplace(text, token);
    if (!is_new) {
      throw DataError(fmt::format(
          "tokens {} and {} of the tokenizer are both '{}': Hugging Face's cannot tell them apart",
          other->second, token, text));
    }
    vocabulary.push_back({text, token});
  }
  return vocabulary;
}

/// "left right" of each merge, in characters for bytes.
Json merges_of(const data::Tokenizer& tokenizer) {
  Json merges = Json::array();
  if (tokenizer.kind() != "bpe") return merges;
  for (const std::string& row : tokenizer.rows()) {
    const std::size_t blank = row.find(' ');
    const auto side = [&](const std::string& number) {
      return written(tokenizer, static_cast<data::Token>(std::stoul(number)));
    };
    merges.push_back(side(row.substr(0, blank)) + " " + side(row.substr(blank + 1)));
  }
  return merges;
}

Json added_tokens(const data::Tokenizer& tokenizer) {
  Json added = Json::array();
  if (const auto end = tokenizer.end_of_text()) {
    added.push_back({{"id", *end},
                     {"content", kEndOfText},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return added;
}

}  // namespace

Json tokenizer_json(const data::Tokenizer& tokenizer) {
  const bool is_char = tokenizer.kind() == "char", is_bpe = tokenizer.kind() == "bpe";
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"vocab", vocabulary_of(tokenizer)},
                      {"merges", merges_of(tokenizer)}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(tokenizer)},
          {"normalizer", nullptr},
          {"pre_tokenizer", is_char  ? Json()
                            : is_bpe ? word_steps()
                                     : byte_level_step()},
          {"post_processor", nullptr},
          {"decoder", is_char ? Json{{"type", "Fuse"}} : byte_level_step()},
          {"model", model}};
}

}  // namespace impart::trained
