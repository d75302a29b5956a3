#pragma once

#include <cstddef>
#include <span>

namespace impart::importance {

/// What one visit of each example of a batch yielded, all from the training forward pass. Element j
/// of every span belongs to the j-th id of the batch. Spans of signals that no chosen notion needs
/// may be empty. For token blocks every signal is the mean over tokens, and probability is
/// exp(-loss).
struct Signals {
  std::span<const float> loss = {};
  std::span<const float> probability = {};  ///< softmax probability of the true class
  std::span<const float> correct = {};      ///< 1 if the true class has the largest logit, else 0
  std::span<const float> margin = {};       ///< logit of the true class - largest other logit
  std::span<const float> entropy = {};      ///< -Σ p ln p, in nats
  std::span<const float> error_norm = {};   ///< ‖p - onehot(y)‖₂ (EL2N)
  std::span<const float> gradient_bound = {};  ///< error_norm · √(1 + ‖h‖²), h: last layer's input
};

/// The signals of `count` visits from visit `start` on; spans that are empty stay empty.
Signals subrange(const Signals& signals, std::size_t start, std::size_t count);

/// A visit counts as correct from here on; with shares of right tokens, more right than wrong.
inline constexpr float kCorrectFrom = 0.5f;

}  // namespace impart::importance
