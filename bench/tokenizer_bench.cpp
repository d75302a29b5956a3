// How fast byte pairs are learned and carried out, against the plain ways of doing so.
//
//   tokenizer_bench [TEXT [VOCABULARY]]      a text file; 33 MB of made words if left out

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/check.h"
#include "impart/core/file.h"
#include "impart/core/random.h"
#include "impart/data/text/token_bpe.h"
#include "impart/data/text/token_words.h"

namespace {

using impart::bench::require;
using impart::bench::seconds_of;
using impart::data::Token;
using impart::data::TokenPair;

constexpr std::uint32_t kPlainMerges = 64;
constexpr std::size_t kPlainBytes = 2'000'000;

/// Words of made letters, the k-th about 1/k as frequent as the first.
std::string make_text(std::size_t bytes) {
  impart::RandomStream random({.seed = 1, .purpose = impart::Purpose("bench")});
  constexpr std::string_view kLetters = "eeeetttaaaoooinshrdlucmfwypvbgk";
  std::vector<std::string> words(100'000);
  for (std::string& word : words) {
    for (std::uint64_t k = 2 + random.below(4) + random.below(6); k > 0; --k) {
      word += kLetters[random.below(kLetters.size())];
    }
  }
  std::string text;
  while (text.size() < bytes) {
    const double rank = std::exp(random.uniform() * std::log(static_cast<double>(words.size())));
    text += words[static_cast<std::size_t>(rank) - 1];
    text += random.below(10) == 0 ? ". " : " ";
  }
  return text;
}

std::vector<Token> merge(const std::vector<Token>& tokens, TokenPair pair, Token made) {
  std::vector<Token> merged;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool found = i + 1 < tokens.size() && TokenPair{tokens[i], tokens[i + 1]} == pair;
    merged.push_back(found ? made : tokens[i]);
    if (found) ++i;
  }
  return merged;
}

/// Counts the pairs of all distinct words anew for every merge.
std::vector<TokenPair> learn_plainly(const impart::data::WordCounts& counts, std::uint32_t merges) {
  std::vector<std::pair<std::vector<Token>, std::uint64_t>> words;
  for (const auto& [word, count] : counts) {
    std::vector<Token> tokens;
    for (const char byte : word) tokens.push_back(static_cast<unsigned char>(byte));
    words.emplace_back(std::move(tokens), count);
  }
  std::vector<TokenPair> learned;
  while (learned.size() < merges) {
    std::unordered_map<std::uint32_t, std::uint64_t> pairs;
    for (const auto& [tokens, count] : words) {
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        pairs[(std::uint32_t{tokens[i]} << 16) | tokens[i + 1]] += count;
      }
    }
    const auto best =
        std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
          return a.second != b.second ? a.second < b.second : a.first > b.first;
        });
    learned.push_back({static_cast<Token>(best->first >> 16), static_cast<Token>(best->first)});
    const auto made = static_cast<Token>(255 + learned.size());
    for (auto& [tokens, count] : words) tokens = merge(tokens, learned.back(), made);
  }
  return learned;
}

/// Looks for the merge that comes first among all pairs of a word, again and again.
std::vector<Token> encode_plainly(std::string_view text, std::span<const TokenPair> merges) {
  std::unordered_map<std::uint32_t, Token> table;
  for (std::size_t k = 0; k < merges.size(); ++k) {
    table[(std::uint32_t{merges[k].left} << 16) | merges[k].right] = static_cast<Token>(256 + k);
  }
  std::vector<Token> all;
  impart::data::Words words(text);
  std::string_view word;
  while (words.next(word)) {
    std::vector<Token> tokens;
    for (const char byte : word) tokens.push_back(static_cast<unsigned char>(byte));
    for (bool merged = true; merged;) {
      Token first = 0;
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const auto found = table.find((std::uint32_t{tokens[i]} << 16) | tokens[i + 1]);
        if (found != table.end() && (first == 0 || found->second < first)) first = found->second;
      }
      merged = first != 0;
      if (merged) tokens = merge(tokens, merges[first - 256u], first);
    }
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text =
      argc > 1 ? std::string(impart::InputFile(argv[1]).text()) : make_text(33'000'000);
  const auto merges = static_cast<std::uint32_t>(argc > 2 ? std::stoul(argv[2]) : 8192);
  const double megabytes = static_cast<double>(text.size()) / 1e6;

  impart::data::WordCounts counts;
  std::vector<TokenPair> learned, few, plain;
  const double counting = seconds_of([&] { impart::data::count_words(text, counts); });
  const double learning = seconds_of([&] { learned = impart::data::learn_merges(counts, merges); });
  const double learning_few =
      seconds_of([&] { few = impart::data::learn_merges(counts, kPlainMerges); });
  const double anew = seconds_of([&] { plain = learn_plainly(counts, kPlainMerges); });
  require(few == plain, "the first merges");
  fmt::print(
      "learning {} merges from {:.1f} MB, {} distinct words: {:.2f} s, and {:.2f} s to count "
      "words; the first {}: {:.3f} s, counting pairs anew: {:.3f} s, ratio {:.1f}\n",
      learned.size(), megabytes, counts.size(), learning, counting, kPlainMerges, learning_few,
      anew, anew / learning_few);

  const impart::data::TokenizerPtr tokenizer = impart::data::bpe_tokenizer(learned, true);
  const std::string_view part = std::string_view(text).substr(0, kPlainBytes);
  std::vector<Token> tokens, expected, ours;
  const double plainly = seconds_of([&] { expected = encode_plainly(part, learned); });
  const double encoding_part = seconds_of([&] { ours = tokenizer->encode(part); });
  require(ours == expected, "the tokens");
  const double encoding = seconds_of([&] { tokens = tokenizer->encode(text); });
  std::string decoded;
  const double decoding = seconds_of([&] { decoded = tokenizer->decode(tokens); });
  require(decoded == text, "the text");
  fmt::print(
      "encoding {:.1f} MB: {:.1f} MB/s, {:.2f} bytes a token; decoding {:.0f} MB/s; the plain "
      "way takes {:.1f} times as long\n",
      megabytes, megabytes / encoding, 1e6 * megabytes / static_cast<double>(tokens.size()),
      megabytes / decoding, plainly / encoding_part);
}
