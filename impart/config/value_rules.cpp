#include "impart/config/value_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"
#include "impart/core/named_table.h"

namespace impart::config {
namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Also what no integer type could hold.
bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

[[noreturn]] void throw_not_allowed(std::string_view found, std::string_view what,
                                    std::string_view allowed) {
  throw ConfigError(fmt::format("'{}' is {}; allowed: {}", found, what, allowed));
}

std::string describe(const NumberRange& range) {
  const bool open = range.most == std::numeric_limits<double>::max();
  if (open && range.without_least) return fmt::format("more than {}", range.least);
  if (open) return fmt::format("{} or more", range.least);
  return fmt::format("{}{} to {}{}", range.without_least ? "more than " : "", range.least,
                     range.without_most ? "less than " : "", range.most);
}

bool contains(const NumberRange& range, double value) {
  const bool above = range.without_least ? value > range.least : value >= range.least;
  const bool below = range.without_most ? value < range.most : value <= range.most;
  return above && below;
}

/// Why a text is no number of the range; "30%" may be meant as 0.3.
std::string not_a_number(std::string_view text, const NumberRange& range) {
  const auto percent = text.ends_with('%') ? parse<double>(text.substr(0, text.size() - 1))
                                           : std::optional<double>();
  if (!percent || !contains(range, *percent / 100)) return "not a number";
  return fmt::format("not a number, but {} is", *percent / 100);
}

/// Length of the UTF-8 sequence that starts with this byte, 0 if none does.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

/// Over-long forms, surrogates and code points past the last are what the second byte gives away.
bool second_byte_fits(unsigned char lead, unsigned char second) {
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second <= 0x9F;
  if (lead == 0xF0) return second >= 0x90;
  if (lead == 0xF4) return second <= 0x8F;
  return true;
}

/// Such text survives being written to a file and read back.
bool is_one_line_of_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const std::size_t length = sequence_length(byte(0));
    if (length == 0 || at + length > text.size() || byte(0) < 0x20 || byte(0) == 0x7F) return false;
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
    }
    if (length > 1 && !second_byte_fits(byte(0), byte(1))) return false;
    at += length;
  }
  return true;
}

void check_text(std::string_view found) {
  if (!is_one_line_of_utf8(found)) {
    throw ConfigError("the text has control characters or is not UTF-8; allowed: one line of text");
  }
}

std::string one_of(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, " | "));
}

void check_name(std::string_view kind, const std::string& found,
                const std::vector<std::string_view>& names) {
  check_text(found);
  if (names.empty() || std::find(names.begin(), names.end(), found) != names.end()) return;
  throw_unknown_name(kind, found, names);
}

}  // namespace

template <class T>
ValueRule<T> whole(T least, T most, std::string_view unit) {
  const bool open = most == std::numeric_limits<T>::max();
  std::string allowed =
      open ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
  if (!unit.empty()) allowed += fmt::format(", in {}", unit);
  const auto read = [=](const WrittenValue& written) {
    const auto value = parse<T>(written.front());
    if (!value || *value < least || *value > most) {
      throw_not_allowed(written.front(),
                        is_whole(written.front()) ? "out of range" : "not a whole number", allowed);
    }
    return *value;
  };
  return {.allowed = allowed, .read = read, .write = [](const T& value) -> WrittenValue {
            return {fmt::to_string(value)};
          }};
}
template ValueRule<std::uint32_t> whole(std::uint32_t, std::uint32_t, std::string_view);
template ValueRule<std::uint64_t> whole(std::uint64_t, std::uint64_t, std::string_view);

template <class T>
ValueRule<T> epochs(std::uint32_t least, std::uint32_t most) {
  const ValueRule<std::uint32_t> numbers = whole(least, most);
  const ValueRule<double> shares = number({.most = 100, .without_least = least > 0});
  const std::string allowed = numbers.allowed + ", or a share of the run: 50%";
  const auto read = [=](const WrittenValue& written) -> T {
    std::string_view found = written.front();
    const bool is_share = found.ends_with('%');
    if (is_share) found.remove_suffix(1);
    try {
      if (!is_share) return numbers.read({std::string(found)});
      return Epochs::share(shares.read({std::string(found)}));
    } catch (const ConfigError&) {
      throw_not_allowed(written.front(), "not a number of epochs", allowed);
    }
  };
  const auto write = [](const T& value) -> WrittenValue {
    return {value.percent ? fmt::format("{}%", *value.percent) : fmt::to_string(value.count)};
  };
  return {.allowed = allowed, .read = read, .write = write};
}
template ValueRule<Epochs> epochs(std::uint32_t, std::uint32_t);
template ValueRule<EpochInterval> epochs(std::uint32_t, std::uint32_t);

ValueRule<double> number(const NumberRange& range) {
  const std::string allowed = describe(range);
  const auto read = [=](const WrittenValue& written) {
    const auto value = parse<double>(written.front());
    if (!value || std::isnan(*value)) {
      throw_not_allowed(written.front(), not_a_number(written.front(), range), allowed);
    }
    if (!contains(range, *value)) throw_not_allowed(written.front(), "out of range", allowed);
    return *value;
  };
  return {.allowed = allowed, .read = read, .write = [](const double& value) -> WrittenValue {
            return {fmt::to_string(value)};
          }};
}

ValueRule<double> share_or_none() {
  constexpr const char* kNone = "none";
  const std::string allowed = "none, more than 0 to less than 1, or as 10%";
  const auto read = [=](const WrittenValue& written) {
    std::string_view found = written.front();
    if (found == kNone) return 0.0;
    const bool is_percent = found.ends_with('%');
    if (is_percent) found.remove_suffix(1);
    const auto value = parse<double>(found);
    if (!value || std::isnan(*value)) throw_not_allowed(written.front(), "no share", allowed);
    const double share = is_percent ? *value / 100 : *value;
    if (share <= 0 || share >= 1) throw_not_allowed(written.front(), "out of range", allowed);
    return share;
  };
  const auto write = [=](const double& share) -> WrittenValue {
    return {share == 0 ? kNone : fmt::to_string(share)};
  };
  return {.allowed = allowed, .read = read, .write = write};
}

ValueRule<StopTarget> stop_target() {
  return {.allowed = "as accuracy >= 82, perplexity <= 30",
          .read = [](const WrittenValue& written) { return parse_stop_target(written.front()); },
          .write = [](const StopTarget& target) -> WrittenValue { return {to_text(target)}; }};
}

ValueRule<std::optional<std::uint64_t>> own_seed() {
  constexpr const char* kSame = "seed";
  const std::string allowed = "seed, or a number, 0 or more";
  const auto read = [=](const WrittenValue& written) -> std::optional<std::uint64_t> {
    if (written.front() == kSame) return std::nullopt;
    const auto value = parse<std::uint64_t>(written.front());
    if (!value) throw_not_allowed(written.front(), "no seed", allowed);
    return value;
  };
  const auto write = [=](const std::optional<std::uint64_t>& seed) -> WrittenValue {
    return {seed ? fmt::to_string(*seed) : kSame};
  };
  return {.allowed = allowed, .read = read, .write = write};
}

ValueRule<bool> flag() {
  const auto read = [](const WrittenValue& written) {
    const std::string& found = written.front();
    if (found != "true" && found != "false") {
      throw_not_allowed(found, "not true or false", "true | false");
    }
    return found == "true";
  };
  return {.allowed = "true | false", .read = read, .write = [](const bool& value) -> WrittenValue {
            return {value ? "true" : "false"};
          }};
}

ValueRule<std::string> text() {
  return name_of("text", {});
}

ValueRule<std::string> joined_texts() {
  ValueRule<std::string> rule = text();
  rule.joins_lists = true;
  rule.read = [read = rule.read](const WrittenValue& written) {
    return read({fmt::to_string(fmt::join(written, ","))});
  };
  return rule;
}

ValueRule<std::string> name_of(const std::string& kind,
                               const std::vector<std::string_view>& names) {
  const auto read = [=](const WrittenValue& written) {
    check_name(kind, written.front(), names);
    return written.front();
  };
  return {.allowed = names.empty() ? "text" : one_of(names),
          .read = read,
          .write = [](const std::string& value) -> WrittenValue { return {value}; }};
}

ValueRule<std::vector<std::string>> names_of_many(const std::string& kind,
                                                  const std::vector<std::string_view>& names) {
  const auto read = [=](const WrittenValue& written) {
    for (auto item = written.begin(); item != written.end(); ++item) {
      check_name(kind, *item, names);
      if (std::find(written.begin(), item, *item) != item) {
        throw ConfigError(fmt::format("'{}' is in the list twice", *item));
      }
    }
    return written;
  };
  return {.allowed = fmt::format("list of {}", one_of(names)),
          .is_list = true,
          .read = read,
          .write = [](const std::vector<std::string>& value) { return value; }};
}

ValueRule<SyncRule> sync_rule() {
  const std::string allowed = "step | epoch | number of steps, 1 or more";
  const auto read = [=](const WrittenValue& written) -> SyncRule {
    const std::string& found = written.front();
    if (found == "step") return {.kind = SyncRule::Kind::kStep};
    if (found == "epoch") return {.kind = SyncRule::Kind::kEpoch};
    const auto steps = parse<std::uint32_t>(found);
    if (!steps || *steps == 0) throw_not_allowed(found, "not a way to synchronise", allowed);
    return {.kind = SyncRule::Kind::kEverySteps, .steps = *steps};
  };
  const auto write = [](const SyncRule& sync) -> WrittenValue {
    switch (sync.kind) {
      case SyncRule::Kind::kStep:
        return {"step"};
      case SyncRule::Kind::kEpoch:
        return {"epoch"};
      case SyncRule::Kind::kEverySteps:
        break;
    }
    return {fmt::to_string(sync.steps)};
  };
  return {.allowed = allowed, .read = read, .write = write};
}

ValueRule<std::uint32_t> norm_sharing() {
  const std::string allowed = "worker | shared | number of workers, 1 or more";
  const auto read = [=](const WrittenValue& written) -> std::uint32_t {
    const std::string& found = written.front();
    if (found == "worker") return 1;
    if (found == "shared") return WorkersConfig::kWholeStep;
    const auto workers = parse<std::uint32_t>(found);
    if (!workers || *workers == 0) throw_not_allowed(found, "not a way to share", allowed);
    return *workers;
  };
  const auto write = [](const std::uint32_t& workers) -> WrittenValue {
    if (workers == WorkersConfig::kWholeStep) return {"shared"};
    return {workers == 1 ? "worker" : fmt::to_string(workers)};
  };
  return {.allowed = allowed, .read = read, .write = write};
}

}  // namespace impart::config
