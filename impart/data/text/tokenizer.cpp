#include "impart/data/text/tokenizer.h"

#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/text/token_kinds.h"

namespace impart::data {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(bool end_of_text) : Tokenizer(single_bytes(), end_of_text) {}

  std::string_view kind() const override { return "byte"; }

  void append_tokens(std::string_view text, const TextPlace&,
                     std::vector<Token>& tokens) const override {
    tokens.reserve(tokens.size() + text.size());
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  }

  std::vector<std::string> rows() const override { return {}; }
};

}  // namespace

Tokenizer::Tokenizer(std::vector<std::string> pieces, bool end_of_text)
    : pieces_(std::move(pieces)), has_end_of_text_(end_of_text) {
  if (has_end_of_text_) pieces_.emplace_back();
  if (pieces_.size() > kLargestVocabulary) {
    throw ConfigError(fmt::format("a vocabulary of {} tokens; there can be {}", pieces_.size(),
                                  kLargestVocabulary));
  }
}

std::optional<Token> Tokenizer::end_of_text() const {
  if (!has_end_of_text_) return std::nullopt;
  return static_cast<Token>(pieces_.size() - 1);
}

std::vector<Token> Tokenizer::encode(std::string_view text, const TextPlace& place) const {
  std::vector<Token> tokens;
  append_tokens(text, place, tokens);
  return tokens;
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    if (token >= pieces_.size()) {
      throw Error(fmt::format("token {} of a vocabulary of {}", token, pieces_.size()));
    }
    text += pieces_[token];
  }
  return text;
}

std::vector<std::string> single_bytes() {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  return bytes;
}

TokenizerPtr byte_tokenizer(bool end_of_text) {
  return std::make_shared<ByteTokenizer>(end_of_text);
}

TokenizerPtr make_byte_tokenizer(std::span<const CorpusText>, const TokenizerSpec& spec) {
  return byte_tokenizer(spec.end_of_text);
}

}  // namespace impart::data
