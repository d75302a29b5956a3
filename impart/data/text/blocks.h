#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/text/token_set.h"

namespace impart::data {

/// A text that stands for itself: a file, or a row of a table.
struct TextDocument {
  std::string_view text;
  std::uint32_t file = 0;    ///< index of its file
  std::uint64_t line = 0;    ///< from 1, of its row; 0 if it is no row
  std::uint64_t offset = 0;  ///< where the text begins in its file
};

/// How a corpus becomes blocks.
struct BlockSpec {
  std::uint32_t length = 64;  ///< T: a block has T + 1 tokens, at least 2
  std::uint32_t stride = 0;   ///< from one block's start to the next; 0: `length`
  /// true: documents are joined, with an end of text between them if the vocabulary has one, and a
  /// block may hold several. false: a block lies in one document, and shorter documents are left
  /// out.
  bool pack = true;
};

/// ConfigError if there can be no such blocks.
void check_blocks(const BlockSpec& spec);

/// Encodes documents and cuts them into blocks 0, stride, 2·stride, …; tokens in no
/// block are left out, and counted. DataError if not one block comes out, or from the tokenizer.
///
/// A block's origin is the byte where its first token begins. In a quoted field of a table with
/// quotes in it, which are written twice, it may be that many bytes early.
TokenSet cut_documents(std::span<const TextDocument> documents, std::vector<std::string> files,
                       const Tokenizer& tokenizer, const BlockSpec& spec);

/// Tokens of a file of tokens.
struct TokenStretch {
  std::vector<Token> tokens = {};
  std::string file = {};
  std::uint64_t first = 0;  ///< how many tokens stand before them in the file
};

/// The same for tokens that are given, all below `vocabulary`: origins count tokens, and without a
/// tokenizer bytes are unknown.
TokenSet cut_tokens(TokenStretch stretch, std::uint32_t vocabulary, const Tokenizer* tokenizer,
                    const BlockSpec& spec);

/// Keeps so many examples: the first ones of a corpus; texts with a class, which may be ordered by
/// it, are taken evenly from all. 0 keeps all.
void keep_examples(TokenSet& set, std::uint64_t limit);

}  // namespace impart::data
