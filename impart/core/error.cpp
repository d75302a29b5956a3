#include "impart/core/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace impart {
namespace {

/// The nearest place from `at` on, in steps of `step`, where a character of UTF-8 begins.
std::size_t next_to_a_character(std::string_view text, std::size_t at, int step) {
  const auto is_inside = [&] { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  for (int tries = 0; tries < 3 && at > 0 && at < text.size() && is_inside(); ++tries) {
    at += static_cast<std::size_t>(step);
  }
  return at;
}

}  // namespace

std::string shorten(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::size_t end = next_to_a_character(text, most - most / 4, -1);
  const std::size_t begin = next_to_a_character(text, text.size() - most / 4, 1);
  return fmt::format("{} […{} bytes…] {}", text.substr(0, end), begin - end, text.substr(begin));
}

std::string one_line_of(const std::exception& error) {
  constexpr std::string_view kRaised = "\nException raised from ";
  const std::string_view all = error.what();
  const std::size_t raised = all.find(kRaised);
  if (raised == all.npos) return std::string(all);
  const std::string_view place = all.substr(raised + kRaised.size());
  return fmt::format("{} (in {})", all.substr(0, all.find('\n')),
                     place.substr(0, std::min(place.find(" (most recent"), place.find('\n'))));
}

}  // namespace impart
