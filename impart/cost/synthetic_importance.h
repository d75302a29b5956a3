#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace impart::cost {

struct SyntheticImportanceSpec {
  std::uint64_t examples = 0;
  std::uint64_t seed = 0;
  double drift = 0.3;  ///< 0: ranks never change; 1: new ranks in every epoch
};

/// Importance that nobody trained for: what decisions look at when only their cost is asked.
///
/// Example i has at epoch e the importance exp(√(1−d)·L_i + √d·x_i,e): a fixed level L and noise x
/// that follows an AR(1) process with coefficient 1−d, both standard normal; d is the drift. So all
/// epochs have the same log-normal distribution, and log-importances t epochs apart correlate with
/// (1−d) + d·(1−d)^t. Levels come from the stream (seed, "io-level"), the noise of an epoch from
/// (seed, "io-noise", epoch).
class SyntheticImportance {
 public:
  explicit SyntheticImportance(const SyntheticImportanceSpec& spec);

  /// The importance of every example at an epoch, which must not be before the last one asked for;
  /// valid until the next call. Epochs in between cost nothing. O(examples).
  std::span<const float> at(std::uint32_t epoch);

 private:
  void move_on_to(std::uint32_t epoch);

  SyntheticImportanceSpec spec_;
  std::uint32_t epoch_ = 0;
  std::vector<float> levels_, noise_, importance_;
};

}  // namespace impart::cost
