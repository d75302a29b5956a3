#include "impart/report/numbers.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace impart::report {

std::string number_text(double value) {
  if (!std::isfinite(value)) return "–";
  return std::abs(value) < 1000 ? fmt::format("{:.3f}", value) : fmt::format("{:.4g}", value);
}

std::string difference_text(double value) {
  if (!std::isfinite(value)) return "–";
  return (value < 0 ? "−" : "+") + number_text(std::abs(value));
}

std::string spread_text(const statistics::Description& values) {
  if (values.n < 2) return number_text(values.mean);
  return fmt::format("{} ± {}", number_text(values.mean), number_text(values.std));
}

std::string p_text(double p) {
  return p < 0.0001 ? "< 0.0001" : fmt::format("{:.4f}", p);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 1000) return fmt::format("{:.1f} s", seconds);
  const auto minutes = static_cast<long long>(std::llround(seconds / 60));
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return "–";
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < kUnits.size(); bytes /= 1024) ++unit;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string count_text(double count) {
  if (!std::isfinite(count)) return "–";
  if (count != std::floor(count) && count < 100) return fmt::format("{:.1f}", count);
  std::string digits = fmt::format("{:.0f}", std::abs(count));
  for (std::ptrdiff_t i = std::ssize(digits) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), "\u202f");
  }
  return (count < 0 ? "−" : "") + digits;
}

Cell text_cell(std::string text) {
  return {.text = std::move(text)};
}

Cell::Tone tone_of(statistics::Claim claim) {
  if (claim == statistics::Claim::kBetter) return Cell::Tone::kBetter;
  return claim == statistics::Claim::kWorse ? Cell::Tone::kWorse : Cell::Tone::kPlain;
}

Cell missing_cell() {
  return {.text = "–", .value = std::nan(""), .tone = Cell::Tone::kMuted};
}

namespace {

Cell cell_of(std::string text, double value) {
  if (!std::isfinite(value)) return missing_cell();
  return {.text = std::move(text), .value = value};
}

}  // namespace

Cell count_cell(double value) {
  return cell_of(count_text(value), value);
}
Cell number_cell(double value) {
  return cell_of(number_text(value), value);
}
Cell spread_cell(const statistics::Description& values) {
  return cell_of(spread_text(values), values.mean);
}
Cell seconds_cell(double value) {
  return cell_of(seconds_text(value), value);
}
Cell bytes_cell(double value) {
  return cell_of(bytes_text(value), value);
}

}  // namespace impart::report
