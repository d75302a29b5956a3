#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "impart/core/ids.h"

namespace impart {

/// The importance of examples 0..N-1, larger for harder: a view of floats or of doubles. Doubles
/// are not rounded to float, since two scores that differ only there must not become a tie.
class Scores {
 public:
  Scores() = default;
  Scores(std::span<const float> values) : values_(values) {}   // NOLINT: a view converts
  Scores(std::span<const double> values) : values_(values) {}  // NOLINT
  Scores(const std::vector<float>& values) : values_(std::span(values)) {}   // NOLINT
  Scores(const std::vector<double>& values) : values_(std::span(values)) {}  // NOLINT

  /// Calls `function` with the span of floats or doubles that this is a view of.
  template <class Function>
  decltype(auto) visit(Function&& function) const {
    return std::visit(function, values_);
  }

  std::uint64_t size() const {
    return visit([](auto values) -> std::uint64_t { return values.size(); });
  }
  bool empty() const { return size() == 0; }

  /// One score. For loops over all of them, `visit` is faster.
  double operator[](ExampleId id) const {
    return visit([id](auto values) -> double { return values[index(id)]; });
  }

 private:
  std::variant<std::span<const float>, std::span<const double>> values_;
};

/// Scores with nothing but finite numbers: NaN and both infinities count as the largest finite
/// score (0 if there is none), as a diverged example is a hard one. Copies only if it must replace
/// something; otherwise it is a view of the scores it was made from.
class FiniteScores {
 public:
  explicit FiniteScores(Scores scores);
  FiniteScores(const FiniteScores&) = delete;
  FiniteScores& operator=(const FiniteScores&) = delete;

  const Scores& view() const { return view_; }
  std::uint64_t replaced() const { return replaced_; }

 private:
  Scores view_;
  std::uint64_t replaced_ = 0;
  std::variant<std::vector<float>, std::vector<double>> copy_;
};

}  // namespace impart
