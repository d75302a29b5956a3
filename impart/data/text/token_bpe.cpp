#include "impart/data/text/token_bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/text/token_words.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kBytes = 256;

/// What two tokens become, by open addressing: half of the slots are free.
class MergeTable {
 public:
  static constexpr std::uint32_t kNone = kLargestVocabulary;

  explicit MergeTable(std::span<const TokenPair> merges)
      : slots_(std::bit_ceil(2 * merges.size() + 2)), shift_(32 - std::countr_zero(slots_.size())) {
    for (std::size_t k = 0; k < merges.size(); ++k) {
      Slot& slot = slots_[find(merges[k])];
      if (slot.merged != kNone) {
        throw ConfigError(
            fmt::format("{} and {} are merged twice", merges[k].left, merges[k].right));
      }
      slot = {.pair = merges[k], .merged = static_cast<std::uint32_t>(kBytes + k)};
    }
  }

  std::uint32_t merged(TokenPair pair) const { return slots_[find(pair)].merged; }

 private:
  struct Slot {
    TokenPair pair;
    std::uint32_t merged = kNone;
  };

  std::size_t find(TokenPair pair) const {
    const std::uint32_t key = (std::uint32_t{pair.left} << 16) | pair.right;
    std::size_t at = (key * 2654435769u) >> shift_;
    while (slots_[at].merged != kNone && slots_[at].pair != pair) at = (at + 1) % slots_.size();
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
};

std::vector<std::string> pieces_of(std::span<const TokenPair> merges) {
  std::vector<std::string> pieces = single_bytes();
  for (const TokenPair& pair : merges) {
    if (pair.left >= pieces.size() || pair.right >= pieces.size()) {
      throw ConfigError(fmt::format("token {} is made of {} and {}, which are not made before it",
                                    pieces.size(), pair.left, pair.right));
    }
    std::string piece = pieces[pair.left] + pieces[pair.right];
    if (piece.size() > kLongestWord) {
      throw ConfigError(
          fmt::format("token {} is longer than {} bytes", pieces.size(), kLongestWord));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// A word while its tokens are merged.
class MergingWord {
 public:
  MergingWord(std::string_view word, const MergeTable& table) : table_(table), size_(word.size()) {
    for (std::size_t i = 0; i < size_; ++i) tokens_[i] = static_cast<unsigned char>(word[i]);
    for (std::size_t i = 0; i + 1 < size_; ++i) look_up(i);
  }

  /// The merge that was learned first comes first; of equal ones the leftmost.
  void merge_all() {
    while (size_ > 1) {
      const auto first = merged_.begin(), last = first + static_cast<std::ptrdiff_t>(size_ - 1);
      const auto best = std::min_element(first, last);
      if (*best == MergeTable::kNone) return;
      merge_at(static_cast<std::size_t>(best - first));
    }
  }

  std::span<const Token> tokens() const { return {tokens_.data(), size_}; }

 private:
  void look_up(std::size_t i) { merged_[i] = table_.merged({tokens_[i], tokens_[i + 1]}); }

  void merge_at(std::size_t i) {
    tokens_[i] = static_cast<Token>(merged_[i]);
    --size_;
    std::copy(tokens_.begin() + i + 2, tokens_.begin() + size_ + 1, tokens_.begin() + i + 1);
    std::copy(merged_.begin() + i + 1, merged_.begin() + size_, merged_.begin() + i);
    if (i > 0) look_up(i - 1);
    if (i + 1 < size_) look_up(i);
  }

  const MergeTable& table_;
  std::array<Token, kLongestWord> tokens_;
  std::array<std::uint32_t, kLongestWord> merged_;  ///< what token i and the next become
  std::size_t size_;
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(std::span<const TokenPair> merges, bool end_of_text)
      : Tokenizer(pieces_of(merges), end_of_text),
        merges_(merges.begin(), merges.end()),
        table_(merges_) {
    find_whole_words();
  }

  std::string_view kind() const override { return "bpe"; }

  void append_tokens(std::string_view text, const TextPlace&,
                     std::vector<Token>& tokens) const override {
    Words words(text);
    std::string_view word;
    while (words.next(word)) append_word(word, tokens);
  }

  std::vector<std::string> rows() const override {
    std::vector<std::string> rows;
    for (const TokenPair& pair : merges_) {
      rows.push_back(fmt::format("{} {}", pair.left, pair.right));
    }
    return rows;
  }

 private:
  void append_word(std::string_view word, std::vector<Token>& tokens) const {
    const auto whole = whole_words_.find(word);
    if (whole != whole_words_.end()) {
      tokens.push_back(whole->second);
      return;
    }
    MergingWord merging(word, table_);
    merging.merge_all();
    tokens.insert(tokens.end(), merging.tokens().begin(), merging.tokens().end());
  }

  /// Most words are one token. A token's own bytes need not give it back: other merges inside them
  /// may come first.
  void find_whole_words() {
    for (std::size_t k = 0; k < kBytes + merges_.size(); ++k) {
      const auto token = static_cast<Token>(k);
      MergingWord merging(piece(token), table_);
      merging.merge_all();
      if (merging.tokens().size() == 1) whole_words_.emplace(piece(token), merging.tokens()[0]);
    }
  }

  std::vector<TokenPair> merges_;
  MergeTable table_;
  std::unordered_map<std::string_view, Token> whole_words_;
};

}  // namespace

TokenizerPtr bpe_tokenizer(std::span<const TokenPair> merges, bool end_of_text) {
  return std::make_shared<BpeTokenizer>(merges, end_of_text);
}

TokenizerPtr make_bpe_tokenizer(std::span<const CorpusText> corpus, const TokenizerSpec& spec) {
  constexpr std::uint32_t kFewest = kBytes + 1;  // the end of text
  if (spec.vocabulary < kFewest || spec.vocabulary > kLargestVocabulary) {
    throw ConfigError(fmt::format("a vocabulary of {} tokens for 'bpe': allowed are {} to {}",
                                  spec.vocabulary, kFewest, kLargestVocabulary));
  }
  WordCounts counts;
  for (const CorpusText& part : corpus) {
    if (part.train) count_words(part.text, counts);
  }
  return bpe_tokenizer(learn_merges(counts, spec.vocabulary - kFewest), true);
}

}  // namespace impart::data
