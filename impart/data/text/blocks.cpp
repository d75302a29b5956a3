#include "impart/data/text/blocks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

/// Tokens of one document.
struct TokenRange {
  std::uint64_t begin = 0, end = 0;
};

/// Where the blocks of a range of tokens start.
void add_starts(TokenSet& set, TokenRange range, const BlockSpec& spec) {
  const std::uint64_t block = std::uint64_t{spec.length} + 1;
  const std::uint64_t stride = spec.stride == 0 ? spec.length : spec.stride;
  std::uint64_t covered = range.begin;
  for (std::uint64_t start = range.begin; start + block <= range.end; start += stride) {
    set.starts.push_back(start);
    set.counts.left_out += std::max(start, covered) - covered;
    covered = start + block;
  }
  set.counts.left_out += range.end - covered;
}

/// A place in a row of tokens that moves forward, and knows how many bytes lie before it.
class TokenPlace {
 public:
  TokenPlace(const TokenSet& set, const Tokenizer& tokenizer) : set_(set), tokenizer_(tokenizer) {}

  std::uint64_t bytes_before(std::uint64_t token) {
    for (; at_ < token; ++at_) bytes_ += tokenizer_.piece(set_.tokens[at_]).size();
    return bytes_;
  }

 private:
  const TokenSet& set_;
  const Tokenizer& tokenizer_;
  std::uint64_t at_ = 0, bytes_ = 0;
};

/// Bytes of every block's targets, and where its text lies.
void measure_blocks(TokenSet& set, const Tokenizer& tokenizer,
                    std::span<const TextDocument> documents, std::span<const TokenRange> ranges) {
  TokenPlace document_place(set, tokenizer), begin(set, tokenizer), targets(set, tokenizer),
      end(set, tokenizer);
  std::size_t number = 0;
  for (const std::uint64_t start : set.starts) {
    while (number + 1 < ranges.size() && ranges[number + 1].begin <= start) ++number;
    const TextDocument& document = documents[number];
    const std::uint64_t document_bytes = document_place.bytes_before(ranges[number].begin);
    const std::uint64_t first = begin.bytes_before(start);
    const std::uint64_t last = end.bytes_before(start + set.length + 1);
    set.bytes.push_back(last - targets.bytes_before(start + 1));
    set.origins.push_back({.file = document.file,
                           .line = document.line,
                           .offset = document.offset + (first - document_bytes),
                           .length = last - first});
  }
}

void refuse_if_empty(const TokenSet& set, const BlockSpec& spec) {
  if (!set.starts.empty()) return;
  const std::string others =
      set.files.size() > 1 ? fmt::format(" and {} more", set.files.size() - 1) : "";
  const std::string found = spec.pack ? fmt::format("{} tokens are too few", set.counts.tokens)
                                      : "the longest document is too short";
  throw DataError(fmt::format("{}{}: {} for a block of {} tokens (length {} and the one after it)",
                              set.files.front(), others, found, spec.length + 1, spec.length));
}

}  // namespace

void check_blocks(const BlockSpec& spec) {
  constexpr std::uint32_t kLongest = 1u << 20;
  if (spec.length == 0 || spec.length > kLongest) {
    throw ConfigError(
        fmt::format("a block length of {}: allowed are 1 to {}", spec.length, kLongest));
  }
}

TokenSet cut_documents(std::span<const TextDocument> documents, std::vector<std::string> files,
                       const Tokenizer& tokenizer, const BlockSpec& spec) {
  check_blocks(spec);
  TokenSet set{
      .vocabulary = tokenizer.vocabulary(), .length = spec.length, .files = std::move(files)};
  std::vector<TokenRange> ranges;
  for (const TextDocument& document : documents) {
    if (spec.pack && !ranges.empty() && tokenizer.end_of_text()) {
      set.tokens.push_back(*tokenizer.end_of_text());
    }
    const std::uint64_t begin = set.tokens.size();
    tokenizer.append_tokens(
        document.text, {.path = set.files[document.file], .offset = document.offset}, set.tokens);
    ranges.push_back({begin, set.tokens.size()});
  }
  set.counts.documents = documents.size();
  set.counts.tokens = set.tokens.size();
  if (spec.pack) {
    add_starts(set, {0, set.tokens.size()}, spec);
  } else {
    for (const TokenRange& range : ranges) add_starts(set, range, spec);
  }
  refuse_if_empty(set, spec);
  set.lengths.assign(set.starts.size(), spec.length + 1);
  measure_blocks(set, tokenizer, documents, ranges);
  return set;
}

TokenSet cut_tokens(TokenStretch stretch, std::uint32_t vocabulary, const Tokenizer* tokenizer,
                    const BlockSpec& spec) {
  check_blocks(spec);
  TokenSet set{.vocabulary = vocabulary,
               .length = spec.length,
               .tokens = std::move(stretch.tokens),
               .origins_count_tokens = true};
  set.files.push_back(std::move(stretch.file));
  set.counts = {.documents = 1, .tokens = set.tokens.size()};
  const TokenRange whole{0, set.tokens.size()};
  add_starts(set, whole, spec);
  refuse_if_empty(set, spec);
  set.lengths.assign(set.starts.size(), spec.length + 1);
  if (tokenizer != nullptr) {
    const TextDocument document;
    measure_blocks(set, *tokenizer, {&document, 1}, {&whole, 1});
    set.origins.clear();
  }
  for (const std::uint64_t start : set.starts) {
    set.origins.push_back({.offset = stretch.first + start, .length = spec.length + 1});
  }
  return set;
}

void keep_examples(TokenSet& set, std::uint64_t limit) {
  const std::uint64_t count = set.count();
  if (limit == 0 || limit >= count) return;
  const auto keep = [&](auto& column) {
    if (column.empty()) return;
    if (!set.is_corpus()) {
      for (std::uint64_t k = 0; k < limit; ++k) column[k] = std::move(column[k * count / limit]);
    }
    column.resize(limit);
  };
  keep(set.starts);
  keep(set.lengths);
  keep(set.bytes);
  keep(set.labels);
  keep(set.truth);
  keep(set.origins);
}

}  // namespace impart::data
