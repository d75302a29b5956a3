#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/text/source.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenTrainNames[] = {"train.bin"};
constexpr std::string_view kTokenTestNames[] = {"val.bin", "valid.bin", "test.bin"};

// llm.c begins a file with 256 numbers of 4 bytes: these two, then how many tokens follow.
constexpr std::uint32_t kTokenMagic = 20240520;
constexpr std::uint32_t kTokenVersion = 1;
constexpr std::size_t kHeaderBytes = 256 * 4;

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

/// The bytes after the header, if the file begins with one.
std::span<const std::byte> without_header(const InputFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < 4 || word_at(bytes, 0) != kTokenMagic) return bytes;
  const auto fail = [&](std::size_t at, const std::string& what) {
    return DataError(fmt::format("{}: byte {}: {}", file.path(), at, what));
  };
  if (bytes.size() < kHeaderBytes) {
    throw fail(bytes.size(), fmt::format("ends inside llm.c's header of {} bytes", kHeaderBytes));
  }
  if (word_at(bytes, 4) != kTokenVersion) {
    throw fail(4, fmt::format("version {} of llm.c's format; version {} is read", word_at(bytes, 4),
                              kTokenVersion));
  }
  const std::span<const std::byte> tokens = bytes.subspan(kHeaderBytes);
  const std::uint64_t expected = std::uint64_t{word_at(bytes, 8)} * sizeof(Token);
  if (tokens.size() != expected) {
    throw fail(8, fmt::format("the header tells of {} tokens, {} bytes, but {} bytes follow",
                              expected / sizeof(Token), expected, tokens.size()));
  }
  return tokens;
}

/// Tokens of a file, and where they begin: at a byte, or counted in tokens.
struct FileTokens {
  std::uint64_t offset = 0;
  TokenStretch stretch = {};

  std::span<const Token> tokens() const { return stretch.tokens; }
};

FileTokens read_tokens(const std::string& path) {
  const InputFile file(path);
  const std::span<const std::byte> bytes = without_header(file);
  if (bytes.empty()) throw DataError(fmt::format("{}: no tokens", path));
  if (bytes.size() % sizeof(Token) != 0) {
    throw DataError(fmt::format("{}: byte {}: an odd number of bytes, but a token has {}", path,
                                file.bytes().size() - 1, sizeof(Token)));
  }
  std::vector<Token> tokens(bytes.size() / sizeof(Token));
  std::memcpy(tokens.data(), bytes.data(), bytes.size());
  return {.offset = file.bytes().size() - bytes.size(),
          .stretch = {.tokens = std::move(tokens), .file = path}};
}

void check_tokens(const FileTokens& file, std::uint32_t vocabulary) {
  for (std::size_t i = 0; i < file.tokens().size(); ++i) {
    if (file.tokens()[i] < vocabulary) continue;
    throw DataError(fmt::format("{}: byte {}: token {} of a vocabulary of {}", file.stretch.file,
                                file.offset + i * sizeof(Token), file.tokens()[i], vocabulary));
  }
}

/// vocab_size in the pickled dictionary that nanoGPT leaves beside its tokens: after the name of
/// the key, and what marks it for later use, comes the number.
std::optional<std::uint32_t> read_pickled_size(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const InputFile file(path.string());
  const std::string_view text = file.text();
  constexpr std::string_view kKey = "vocab_size";
  std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) {
    throw DataError(fmt::format("{}: no {}", path.string(), kKey));
  }
  at += kKey.size();
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) : 0u;
  };
  if (byte(at) == 0x94)
    at += 1;  // memoize
  else if (byte(at) == 'q')
    at += 2;  // put
  if (byte(at) == 'K') return byte(at + 1);
  if (byte(at) == 'M') return byte(at + 1) | byte(at + 2) << 8;
  if (byte(at) == 'J') {
    return byte(at + 1) | byte(at + 2) << 8 | byte(at + 3) << 16 | byte(at + 4) << 24;
  }
  throw DataError(fmt::format("{}: byte {}: expected a number after {}", path.string(), at, kKey));
}

std::uint32_t find_vocabulary(const TextSpec& spec, const Tokenizer* tokenizer,
                              const FileTokens& train, const FileTokens& test) {
  std::uint32_t size = spec.vocabulary;
  if (tokenizer != nullptr) {
    if (size != 0 && size != tokenizer->vocabulary()) {
      throw ConfigError(fmt::format("a vocabulary of {} tokens, but that of {} has {}", size,
                                    spec.vocabulary_file, tokenizer->vocabulary()));
    }
    return tokenizer->vocabulary();
  }
  if (size == 0)
    size = read_pickled_size(fs::path(train.stretch.file).parent_path() / "meta.pkl").value_or(0);
  if (size > kLargestVocabulary) {
    throw ConfigError(
        fmt::format("a vocabulary of {} tokens; there can be {}", size, kLargestVocabulary));
  }
  if (size != 0) return size;
  return 1 + std::uint32_t{std::max(*std::max_element(train.tokens().begin(), train.tokens().end()),
                                    *std::max_element(test.tokens().begin(), test.tokens().end()))};
}

/// Takes the last part of the tokens away.
FileTokens cut_test_part(FileTokens& train, double share) {
  std::vector<Token>& tokens = train.stretch.tokens;
  const auto kept = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(tokens.size()) * (1 - share)));
  if (kept == tokens.size()) {
    throw DataError(
        fmt::format("{}: too few tokens to cut some off for testing", train.stretch.file));
  }
  FileTokens test{
      .offset = train.offset + kept * sizeof(Token),
      .stretch = {.tokens = {tokens.begin() + static_cast<std::ptrdiff_t>(kept), tokens.end()},
                  .file = train.stretch.file,
                  .first = kept}};
  tokens.resize(kept);
  return test;
}

}  // namespace

TextData load_token_files(const TextSpec& spec) {
  check_blocks(spec.blocks);
  check_test_share(spec);
  FileTokens train = read_tokens(require_train_file(spec, kTokenTrainNames));
  const std::string test_path = find_test_file(spec, kTokenTestNames);
  FileTokens test =
      test_path.empty() ? cut_test_part(train, spec.test_share) : read_tokens(test_path);
  TextData data;
  if (!spec.vocabulary_file.empty()) data.tokenizer = load_tokenizer(spec.vocabulary_file);
  const std::uint32_t vocabulary = find_vocabulary(spec, data.tokenizer.get(), train, test);
  check_tokens(train, vocabulary);
  check_tokens(test, vocabulary);
  data.train = cut_tokens(std::move(train.stretch), vocabulary, data.tokenizer.get(), spec.blocks);
  data.test = cut_tokens(std::move(test.stretch), vocabulary, data.tokenizer.get(), spec.blocks);
  keep_examples(data.train, spec.limit);
  return data;
}

}  // namespace impart::data
