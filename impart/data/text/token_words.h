#pragma once

#include <cstddef>
#include <string_view>

namespace impart::data {

/// The longest word, in bytes. Longer ones are cut there, so that no text makes merging slow.
inline constexpr std::size_t kLongestWord = 64;

/// Cuts a text into words, inside which byte pairs are merged, and never across. Together they are
/// the text. A word is
///   an optional blank and a run of letters (A-Z, a-z, and all bytes from 0x80 on: of UTF-8, every
///     character beyond ASCII), or
///   an optional blank and a run of digits, or
///   an optional blank and a run of other signs, or
///   a run of white space (blank, \t, \n, \v, \f, \r), but for a last blank that begins the next
///     word.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  /// False at the end. A word has at least one byte.
  bool next(std::string_view& word);

 private:
  std::string_view rest_;
};

}  // namespace impart::data
