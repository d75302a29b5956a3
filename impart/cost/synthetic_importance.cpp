#include "impart/cost/synthetic_importance.h"

#include <cmath>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::cost {

SyntheticImportance::SyntheticImportance(const SyntheticImportanceSpec& spec)
    : spec_(spec), levels_(spec.examples), noise_(spec.examples), importance_(spec.examples) {
  if (!(spec.drift >= 0 && spec.drift <= 1)) {
    throw ConfigError(fmt::format("drift {} is not between 0 and 1", spec.drift));
  }
  RandomStream random({.seed = spec.seed, .purpose = Purpose("io-level")});
  for (float& level : levels_) level = static_cast<float>(random.normal());
  RandomStream noise({.seed = spec.seed, .purpose = Purpose("io-noise")});
  for (float& x : noise_) x = static_cast<float>(noise.normal());
}

// t steps of x ← ρx + √(1−ρ²)·ε are one step with ρᵗ.
void SyntheticImportance::move_on_to(std::uint32_t epoch) {
  const double kept = std::pow(1 - spec_.drift, epoch - epoch_);
  const double fresh = std::sqrt(1 - kept * kept);
  RandomStream random({.seed = spec_.seed, .purpose = Purpose("io-noise"), .epoch = epoch});
  for (float& x : noise_) x = static_cast<float>(kept * x + fresh * random.normal());
  epoch_ = epoch;
}

std::span<const float> SyntheticImportance::at(std::uint32_t epoch) {
  if (epoch < epoch_) throw Error("synthetic importance cannot go back to an earlier epoch");
  if (epoch > epoch_ && spec_.drift > 0) move_on_to(epoch);
  const auto of_level = static_cast<float>(std::sqrt(1 - spec_.drift));
  const auto of_noise = static_cast<float>(std::sqrt(spec_.drift));
  for (std::size_t i = 0; i < importance_.size(); ++i) {
    importance_[i] = std::exp(of_level * levels_[i] + of_noise * noise_[i]);
  }
  return importance_;
}

}  // namespace impart::cost
