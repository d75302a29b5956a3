#pragma once

#include <chrono>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace impart::bench {

/// A benchmark times only what gave the right answer.
inline void require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "wrong answer: {}\n", what);
  std::exit(1);
}

/// Seconds that a call takes.
template <class Function>
double seconds_of(Function&& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace impart::bench
