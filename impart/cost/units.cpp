#include "impart/cost/units.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cost {
namespace {

struct Unit {
  std::string_view name;
  double size;
};
constexpr double kKibi = 1024;
constexpr Unit kPrefixes[] = {{"", 1},
                              {"k", 1e3},
                              {"K", 1e3},
                              {"M", 1e6},
                              {"G", 1e9},
                              {"T", 1e12},
                              {"Ki", kKibi},
                              {"Mi", kKibi* kKibi},
                              {"Gi", kKibi* kKibi* kKibi},
                              {"Ti", kKibi* kKibi* kKibi* kKibi}};
/// How many are a second: whole numbers, so that 50us are 5e-5 to the last digit.
constexpr Unit kTimes[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}};

template <std::size_t N>
std::optional<double> size_of(const Unit (&units)[N], std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.size;
  }
  return std::nullopt;
}

/// Bytes per second of "GB/s".
std::optional<double> rate_unit(std::string_view unit) {
  constexpr std::string_view kPerSecond = "/s";
  if (!unit.ends_with(kPerSecond)) return std::nullopt;
  unit.remove_suffix(kPerSecond.size());
  if (!unit.ends_with('b') && !unit.ends_with('B')) return std::nullopt;
  const auto prefix = size_of(kPrefixes, unit.substr(0, unit.size() - 1));
  if (!prefix) return std::nullopt;
  return unit.ends_with('b') ? *prefix / 8 : *prefix;
}

std::optional<double> time_unit(std::string_view unit) {
  return size_of(kTimes, unit);
}

/// A text, cut behind its number.
struct Amount {
  std::string number;
  double value = -1;
  std::string unit;
};

Amount split(std::string_view text) {
  Amount amount;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, amount.value);
  if (error != std::errc{} || !std::isfinite(amount.value)) return {};
  amount.number.assign(text.data(), stop);
  amount.unit.assign(stop, end);
  if (amount.unit.starts_with(' ')) amount.unit.erase(0, 1);
  return amount;
}

void replace_end(std::string& text, std::string_view from, std::string_view to) {
  if (text.ends_with(from)) text.replace(text.size() - from.size(), from.size(), to);
}

/// What other programs and hands write for a unit of a rate: "gbps", "Gbit/s", "MByte/s".
std::string usual_rate_unit(std::string unit) {
  if (unit.find_first_of("mgt") == 0) unit[0] = static_cast<char>(std::toupper(unit[0]));
  replace_end(unit, "ps", "/s");
  replace_end(unit, "/sec", "/s");
  if (!unit.ends_with("/s")) unit += "/s";
  for (const std::string_view bits : {"bits/s", "bit/s", "Bit/s"}) replace_end(unit, bits, "b/s");
  for (const std::string_view bytes : {"bytes/s", "byte/s", "Byte/s", "Bytes/s"}) {
    replace_end(unit, bytes, "B/s");
  }
  return unit;
}

[[noreturn]] void throw_no_rate(std::string_view text, const Amount& amount) {
  const std::string what = fmt::format("'{}' is no rate", text);
  const std::string& number = amount.number;
  const std::string unit = usual_rate_unit(amount.unit);
  if (amount.value > 0 && rate_unit(unit)) {
    throw ConfigError(fmt::format("{}; did you mean '{}{}'?", what, number, unit));
  }
  const std::string prefix = unit.substr(0, unit.size() - 2);
  if (amount.value > 0 && size_of(kPrefixes, prefix)) {
    throw ConfigError(fmt::format("{}: bits or bytes? write '{}{}b/s' or '{}{}B/s'", what, number,
                                  prefix, number, prefix));
  }
  throw ConfigError(what + "; write '25Gb/s' for bits or '2GB/s' for bytes, above 0");
}

[[noreturn]] void throw_no_time(std::string_view text, const Amount& amount) {
  const std::string what = fmt::format("'{}' is no time", text);
  std::string lower = amount.unit;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  replace_end(lower, "µs", "us");
  replace_end(lower, "sec", "s");
  if (amount.value >= 0 && time_unit(lower)) {
    throw ConfigError(fmt::format("{}; did you mean '{}{}'?", what, amount.number, lower));
  }
  if (amount.value >= 0 && amount.unit.empty()) {
    throw ConfigError(fmt::format("{}: it needs a unit; write '{}us', '{}ms' or '{}s'", what,
                                  amount.number, amount.number, amount.number));
  }
  throw ConfigError(what + "; write '5us', '250ms' or '1.5s'");
}

/// Three digits, or all before the point.
std::string rounded(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string with_prefix(double value, std::string_view unit) {
  constexpr std::string_view kNames[] = {"", "k", "M", "G", "T"};
  std::size_t at = 0;
  for (; value >= 999.5 && at + 1 < std::size(kNames); ++at) value /= 1000;
  return fmt::format("{:.3g} {}{}/s", value, kNames[at], unit);
}

}  // namespace

double parse_rate(std::string_view text) {
  const Amount amount = split(text);
  const auto unit = rate_unit(amount.unit);
  if (!unit || !(amount.value > 0)) throw_no_rate(text, amount);
  return amount.value * *unit;
}

double parse_seconds(std::string_view text) {
  const Amount amount = split(text);
  const auto unit = time_unit(amount.unit);
  if (!unit || !(amount.value >= 0)) throw_no_time(text, amount);
  return amount.value / *unit;
}

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < 5e-9) return "0 s";
  if (seconds < 0.9995e-3) return rounded(seconds * 1e6) + " us";
  if (seconds < 0.9995) return rounded(seconds * 1e3) + " ms";
  if (seconds < 10 * kMinute) return rounded(seconds) + " s";
  if (seconds < 2 * kHour) return rounded(seconds / kMinute) + " min";
  return rounded(seconds / kHour) + " h";
}

std::string bit_rate_text(double bytes) {
  return with_prefix(8 * bytes, "b");
}

std::string byte_rate_text(double bytes) {
  return with_prefix(bytes, "B");
}

}  // namespace impart::cost
