#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/text/token_kinds.h"

namespace impart::data {
namespace {

constexpr std::string_view kFormat = "impart tokenizer ";
constexpr std::string_view kTokenFileVersion = "1";
constexpr std::string_view kChecksum = "xxh3 ";
constexpr std::size_t kChecksumLine = kChecksum.size() + 16 + 1;

std::string checksum_of(std::string_view text) {
  return fmt::format("{}{:016x}\n", kChecksum, XXH3_64bits(text.data(), text.size()));
}

/// The lines of a saved file, whose checksum holds.
class SavedLines {
 public:
  explicit SavedLines(const InputFile& file) : path_(file.path()), rest_(file.text()) {
    if (!rest_.starts_with(kFormat)) fail("not a saved tokenizer");
    const std::string_view version = next().substr(kFormat.size());
    if (version != kTokenFileVersion) {
      fail(fmt::format("format version '{}'; this program reads {}", version, kTokenFileVersion));
    }
    check_sum(file.text());
  }

  std::string_view next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) fail("the file ends too early");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++line_;
    return line;
  }

  /// The rest of the next line, which must begin with `name` and a blank.
  std::string_view field(std::string_view name) {
    const std::string_view line = next();
    if (!line.starts_with(name) || line.substr(name.size(), 1) != " ") {
      fail(fmt::format("expected '{} …'", name));
    }
    return line.substr(name.size() + 1);
  }

  /// Takes a number below `limit` from the front of a line, and the blank after it.
  std::uint32_t take_number(std::string_view& line, std::uint32_t limit) const {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{} || number >= limit) {
      fail(fmt::format("expected a number below {}", limit));
    }
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.starts_with(' ')) line.remove_prefix(1);
    return number;
  }
  /// A number that ends the line.
  std::uint32_t take_last_number(std::string_view line, std::uint32_t limit) const {
    const std::uint32_t number = take_number(line, limit);
    if (!line.empty()) fail(fmt::format("'{}' left over on the line", line));
    return number;
  }

  bool at_end() const { return rest_.empty(); }

  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(fmt::format("{}:{}: {}", path_, std::max<std::uint64_t>(line_, 1), what));
  }

 private:
  void check_sum(std::string_view text) {
    if (text.size() < kChecksumLine ||
        text.substr(text.size() - kChecksumLine) !=
            checksum_of(text.substr(0, text.size() - kChecksumLine))) {
      throw DataError(
          fmt::format("{}: truncated or damaged: its last line is not the checksum of "
                      "the others",
                      path_));
    }
    rest_.remove_suffix(kChecksumLine);
  }

  std::string path_;
  std::string_view rest_;
  std::uint64_t line_ = 0;
};

TokenizerPtr read_char(SavedLines& lines, std::uint32_t count, bool end_of_text) {
  std::vector<std::uint32_t> characters;
  for (std::uint32_t k = 0; k < count; ++k) {
    characters.push_back(lines.take_last_number(lines.next(), 0x110000));
  }
  return char_tokenizer(characters, end_of_text);
}

TokenizerPtr read_bpe(SavedLines& lines, std::uint32_t count, bool end_of_text) {
  std::vector<TokenPair> merges;
  for (std::uint32_t k = 0; k < count; ++k) {
    std::string_view line = lines.next();
    const std::uint32_t left = lines.take_number(line, kLargestVocabulary);
    const std::uint32_t right = lines.take_last_number(line, kLargestVocabulary);
    merges.push_back({static_cast<Token>(left), static_cast<Token>(right)});
  }
  return bpe_tokenizer(merges, end_of_text);
}

TokenizerPtr read_kind(SavedLines& lines) {
  const std::string_view kind = lines.field("kind");
  const bool end_of_text = lines.take_last_number(lines.field("end-of-text"), 2) == 1;
  const std::uint32_t count = lines.take_last_number(lines.field("rows"), kLargestVocabulary + 1);
  if (kind == "byte" && count == 0) return byte_tokenizer(end_of_text);
  if (kind == "char") return read_char(lines, count, end_of_text);
  if (kind == "bpe") return read_bpe(lines, count, end_of_text);
  lines.fail(fmt::format("kind '{}' with {} rows", kind, count));
}

}  // namespace

void save_tokenizer(const Tokenizer& tokenizer, const std::string& path) {
  const std::vector<std::string> rows = tokenizer.rows();
  std::string text =
      fmt::format("{}{}\nkind {}\nend-of-text {}\nrows {}\n", kFormat, kTokenFileVersion,
                  tokenizer.kind(), tokenizer.end_of_text() ? 1 : 0, rows.size());
  for (const std::string& row : rows) text += row + '\n';
  text += checksum_of(text);
  write_file(path, text);
}

TokenizerPtr load_tokenizer(const std::string& path) {
  const InputFile file(path);
  SavedLines lines(file);
  try {
    TokenizerPtr tokenizer = read_kind(lines);
    if (!lines.at_end()) lines.fail("lines left over");
    return tokenizer;
  } catch (const ConfigError& error) {
    lines.fail(error.what());
  }
}

}  // namespace impart::data
