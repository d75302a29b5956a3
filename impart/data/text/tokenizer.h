#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/named_table.h"

namespace impart::data {

/// The number of a piece of text, below the size of a vocabulary.
using Token = std::uint16_t;
inline constexpr std::uint32_t kLargestVocabulary = 65536;

/// Where a text begins, for messages: "{path}: byte {offset + i}".
struct TextPlace {
  std::string_view path = "text";
  std::uint64_t offset = 0;
};

/// Turns text into tokens and back. A token stands for a piece of text of its own, so decoding is
/// putting pieces together, and decode(encode(x)) is x, byte for byte. Immutable, so thread-safe.
///
/// A vocabulary may end in a token that no text gives: the end of a document. It stands for no
/// text.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The row of kTokenizers that it comes from.
  virtual std::string_view kind() const = 0;

  /// Appends the tokens of a text. DataError with the place of a character that the vocabulary does
  /// not have, or of bytes that are not UTF-8 where the tokenizer needs characters.
  virtual void append_tokens(std::string_view text, const TextPlace& place,
                             std::vector<Token>& tokens) const = 0;

  std::vector<Token> encode(std::string_view text, const TextPlace& place = {}) const;

  /// Error if a token is not in the vocabulary.
  std::string decode(std::span<const Token> tokens) const;

  /// How many tokens there are, the end of text included.
  std::uint32_t vocabulary() const { return static_cast<std::uint32_t>(pieces_.size()); }
  /// The bytes that a token stands for; token < vocabulary().
  std::string_view piece(Token token) const { return pieces_[token]; }
  std::optional<Token> end_of_text() const;

  /// What tells this tokenizer from others of its kind: lines of a saved file, see save_tokenizer.
  virtual std::vector<std::string> rows() const = 0;

 protected:
  /// ConfigError if the pieces, and the end of text, are more than kLargestVocabulary.
  Tokenizer(std::vector<std::string> pieces, bool end_of_text);

 private:
  std::vector<std::string> pieces_;
  bool has_end_of_text_;
};

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

/// A text that a tokenizer is made from.
struct CorpusText {
  std::string_view text;
  TextPlace place;
  bool train = true;  ///< of the training part
};

/// What a tokenizer is asked for.
struct TokenizerSpec {
  std::uint32_t vocabulary = 8192;  ///< `bpe`: as many tokens as this, or as the text gives
  bool end_of_text = false;         ///< whether documents need to be told apart
};

/// Makes a tokenizer for a corpus. Pure: equal texts, in whatever order, give an equal tokenizer.
using TokenizerMaker = TokenizerPtr(std::span<const CorpusText> corpus, const TokenizerSpec& spec);

/// The 256 bytes; token k is the byte k.
TokenizerMaker make_byte_tokenizer;
/// The Unicode characters of the whole corpus, the validation part included, in the order of their
/// code points. So only a saved vocabulary can meet a character that it does not have, which is an
/// error. Text that is not UTF-8 is, too.
TokenizerMaker make_char_tokenizer;
/// Pairs of bytes, and of what became of them, merged by frequency in the training part: see
/// token_bpe.h. Takes any bytes.
TokenizerMaker make_bpe_tokenizer;

inline constexpr Entry<TokenizerMaker> kTokenizers[] = {
    {"byte", "a token for each of the 256 bytes", make_byte_tokenizer},
    {"char", "a token for each character of the corpus, which is UTF-8", make_char_tokenizer},
    {"bpe", "byte pairs merged by their frequency in the training part", make_bpe_tokenizer},
};
static_assert(names_are_unique(kTokenizers));

/// Writes the file complete or not at all; docs/formats.md has its format. IoError.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& path);

/// DataError with path and line if the file is truncated or damaged, or of another version.
TokenizerPtr load_tokenizer(const std::string& path);

}  // namespace impart::data
