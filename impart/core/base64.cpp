#include "impart/core/base64.h"

#include <cstdint>

#include "impart/core/error.h"

namespace impart {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= three.size() ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  if (text.size() % 4 != 0) throw DataError("is not base64: its length is no multiple of 4");
  std::string_view letters = text;
  for (int i = 0; i < 2 && letters.ends_with('='); ++i) letters.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::size_t value = kLetters.find(letters[i]);
    if (value == std::string_view::npos) throw DataError("is not base64: it has other letters");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 0) bytes += static_cast<char>(bits >> (6 - i % 4 * 2) & 255);
  }
  return bytes;
}

}  // namespace impart
