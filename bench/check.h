#pragma once

#include <chrono>
#include <cstdlib>
#include <ctime>
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

/// That all threads of this program have used so far: nobody else's work counts.
inline double processor_seconds() {
  std::timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace impart::bench
