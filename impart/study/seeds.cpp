// Numbers that a study's file does not list one by one.

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/study/spec.h"

namespace impart::study {
namespace {

constexpr std::size_t kMost = 10'000;
constexpr std::uint64_t kLargestSeed = 999'999;

double parse_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) {
    throw ConfigError(fmt::format("'{}' is not a number", text));
  }
  return value;
}

bool contains(std::span<const std::uint64_t> seeds, std::uint64_t seed) {
  return std::find(seeds.begin(), seeds.end(), seed) != seeds.end();
}

}  // namespace

std::vector<std::uint64_t> derive_seeds(std::uint64_t master, std::size_t count,
                                        std::span<const std::uint64_t> taken) {
  if (count > kMost) {
    throw ConfigError(fmt::format("{} seeds are too many; at most {}", count, kMost));
  }
  RandomStream random({.seed = master, .purpose = Purpose("study-seeds")});
  std::vector<std::uint64_t> seeds;
  while (seeds.size() < count) {
    const std::uint64_t seed = 1 + random.below(kLargestSeed);
    if (!contains(seeds, seed) && !contains(taken, seed)) seeds.push_back(seed);
  }
  return seeds;
}

std::vector<std::string> numbers_between(const std::string& from, const std::string& to,
                                         const std::string& step) {
  const double first = parse_number(from);
  const double by = parse_number(step);
  const double span = (parse_number(to) - first) / by;
  if (by == 0 || !(span >= 0)) {
    throw ConfigError(fmt::format("steps of {} do not lead from {} to {}", step, from, to));
  }
  if (span > static_cast<double>(kMost)) {
    throw ConfigError(
        fmt::format("from {} to {} in steps of {} are more than {} values", from, to, step, kMost));
  }
  std::vector<std::string> numbers;
  const auto count = static_cast<std::size_t>(std::floor(span + 1e-9)) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(fmt::format("{:.12g}", first + by * static_cast<double>(i)));
  }
  return numbers;
}

}  // namespace impart::study
