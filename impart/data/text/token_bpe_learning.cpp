#include <algorithm>
#include <queue>
#include <span>

#include "impart/data/text/token_bpe.h"
#include "impart/data/text/token_words.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kByteTokens = 256;
constexpr std::int64_t kFewestOccurrences = 2;

/// A distinct word of the corpus: `size` tokens from `begin` on.
struct Word {
  std::size_t begin = 0;
  std::uint32_t size = 0;
  std::int64_t count = 0;
};

/// Two neighbours as one number whose order is that of ties.
using PairKey = std::uint32_t;

PairKey key_of(Token left, Token right) {
  return (PairKey{left} << 16) | right;
}

struct PairFacts {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words;  ///< that have held the pair at some time, ascending
};

/// A pair with the count it once had. Counts in the queue are never too small: a pair whose count
/// falls is put right when its turn comes, and one whose count rises is new, and put in then.
struct Candidate {
  std::int64_t count;
  PairKey pair;

  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class MergeLearner {
 public:
  explicit MergeLearner(const WordCounts& counts) {
    // In the order of the text, so that memory is walked through alike on every machine.
    std::vector<std::pair<std::string_view, std::uint64_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [text, count] : sorted) add_word(text, count);
    for (const auto& [pair, facts] : pairs_) queue_.push({facts.count, pair});
  }

  std::vector<TokenPair> learn(std::uint32_t wanted) {
    std::vector<TokenPair> merges;
    while (merges.size() < wanted && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t count = pairs_[best.pair].count;
      if (count < kFewestOccurrences) continue;
      if (count != best.count) {
        queue_.push({count, best.pair});
        continue;
      }
      const auto made = static_cast<Token>(kByteTokens + merges.size());
      merges.push_back({static_cast<Token>(best.pair >> 16), static_cast<Token>(best.pair)});
      carry_out(merges.back(), made);
    }
    return merges;
  }

 private:
  void add_word(std::string_view text, std::uint64_t count) {
    if (text.size() < 2) return;
    const auto number = static_cast<std::uint32_t>(words_.size());
    words_.push_back({.begin = tokens_.size(),
                      .size = static_cast<std::uint32_t>(text.size()),
                      .count = static_cast<std::int64_t>(count)});
    for (const char byte : text) tokens_.push_back(static_cast<unsigned char>(byte));
    const std::span<const Token> tokens = tokens_of(words_.back());
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      add_pair(key_of(tokens[i], tokens[i + 1]), number);
    }
  }

  std::span<Token> tokens_of(const Word& word) {
    return std::span(tokens_).subspan(word.begin, word.size);
  }

  void add_pair(PairKey key, std::uint32_t word) {
    PairFacts& facts = pairs_[key];
    facts.count += words_[word].count;
    if (facts.words.empty() || facts.words.back() != word) facts.words.push_back(word);
  }

  /// Makes one token of the pair in all words that hold it.
  void carry_out(TokenPair pair, Token made) {
    const std::vector<std::uint32_t> words = std::move(pairs_[key_of(pair.left, pair.right)].words);
    changed_.clear();
    for (const std::uint32_t word : words) merge_in_word(word, pair, made);
    pairs_.erase(key_of(pair.left, pair.right));
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const PairKey key : changed_) queue_.push({pairs_[key].count, key});
  }

  void merge_in_word(std::uint32_t number, TokenPair pair, Token made) {
    Word& word = words_[number];
    const std::span<Token> tokens = tokens_of(word);
    if (!holds(tokens, pair)) return;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      pairs_[key_of(tokens[i], tokens[i + 1])].count -= word.count;
    }
    word.size = replace(tokens, pair, made);
    const std::span<const Token> merged = tokens.first(word.size);
    for (std::size_t i = 0; i + 1 < merged.size(); ++i) {
      const PairKey key = key_of(merged[i], merged[i + 1]);
      if (merged[i] == made || merged[i + 1] == made) {
        add_pair(key, number);
        changed_.push_back(key);
      } else {
        pairs_[key].count += word.count;
      }
    }
  }

  static bool holds(std::span<const Token> tokens, TokenPair pair) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i] == pair.left && tokens[i + 1] == pair.right) return true;
    }
    return false;
  }

  /// From left to right; returns how many tokens are left.
  static std::uint32_t replace(std::span<Token> tokens, TokenPair pair, Token made) {
    std::size_t written = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i, ++written) {
      const bool found =
          tokens[i] == pair.left && i + 1 < tokens.size() && tokens[i + 1] == pair.right;
      tokens[written] = found ? made : tokens[i];
      if (found) ++i;
    }
    return static_cast<std::uint32_t>(written);
  }

  std::vector<Word> words_;
  std::vector<Token> tokens_;
  std::unordered_map<PairKey, PairFacts> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<PairKey> changed_;  ///< pairs that a merge has brought forth
};

}  // namespace

void count_words(std::string_view text, WordCounts& counts) {
  Words words(text);
  std::string_view word;
  while (words.next(word)) ++counts[word];
}

std::vector<TokenPair> learn_merges(const WordCounts& counts, std::uint32_t merges) {
  return MergeLearner(counts).learn(merges);
}

}  // namespace impart::data
