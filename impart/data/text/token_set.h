#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impart/core/ids.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/data/text/tokenizer.h"

namespace impart::data {

/// Where the text of an example begins.
struct TextOrigin {
  std::uint32_t file = 0;    ///< of TokenSet::files
  std::uint64_t line = 0;    ///< from 1, of a row in a table; else 0
  std::uint64_t offset = 0;  ///< in bytes of the file, or tokens of a file of tokens
  std::uint64_t length = 0;  ///< in the same unit, ends of documents not counted
};

/// What became of the text.
struct TextCounts {
  std::uint64_t documents = 0;  ///< files, or rows
  std::uint64_t tokens = 0;     ///< of all documents, ends of documents included
  std::uint64_t left_out = 0;   ///< tokens in no block, or cut off a text
  std::uint64_t truncated = 0;  ///< texts longer than `length`, cut there
};

/// Sequences of tokens: blocks of a corpus, or texts with a class. All in memory, 2 bytes a token
/// and 52 to 60 bytes an example.
struct TokenSet {
  std::uint32_t vocabulary = 0;  ///< token ids are below it; at most kLargestVocabulary
  /// Tokens that a model sees of an example: T. An example of a corpus has T + 1 tokens: inputs
  /// 0..T-1, targets 1..T. A text has at least one token, and at most T.
  std::uint32_t length = 0;
  std::vector<Token> tokens = {};           ///< of all examples, which may share them
  std::vector<std::uint64_t> starts = {};   ///< of each example in `tokens`
  std::vector<std::uint32_t> lengths = {};  ///< tokens of each example
  /// Bytes of text that an example's targets stand for (all its tokens, if it is a text with a
  /// class): what bits per byte divide by. Empty if there is no tokenizer to tell.
  std::vector<std::uint64_t> bytes = {};
  std::vector<std::uint32_t> labels = {};  ///< numbers below `classes`; empty for a corpus
  std::uint32_t classes = 0;               ///< 0 for a corpus
  std::vector<std::string> class_names = {};
  std::vector<float> truth = {};  ///< as in ImageSet
  std::vector<TextOrigin> origins = {};
  bool origins_count_tokens = false;  ///< rather than bytes
  std::vector<std::string> files = {};
  TextCounts counts = {};

  std::uint64_t count() const { return starts.size(); }
  /// Blocks of a corpus, to learn the language of, rather than texts with a class.
  bool is_corpus() const { return classes == 0; }
  std::span<const Token> example(ExampleId id) const {
    return std::span(tokens).subspan(starts[index(id)], lengths[index(id)]);
  }
};

/// Both parts of a data set. There is no tokenizer if the data are tokens already and no vocabulary
/// was given.
struct TextData {
  TokenSet train, test;
  TokenizerPtr tokenizer = {};
  std::vector<std::string> notes = {};  ///< as of ExampleData
};

/// Where an example comes from: "input.txt, byte 1280", "train.bin, token 640"; of tables a text is
/// "train.tsv:17", a block "train.tsv:17, byte 640".
std::string describe_origin(const TokenSet& set, ExampleId id);

/// The text of an example, ends of documents as "<|endoftext|>"; the numbers of the tokens if there
/// is no tokenizer. Error if there is no such example.
std::string text_of(const TokenSet& set, const Tokenizer* tokenizer, ExampleId id);

/// The examples as payloads: their tokens, 2 bytes each, little-endian.
std::shared_ptr<const PayloadSource> make_token_source(std::shared_ptr<const TokenSet> set);

}  // namespace impart::data
