#pragma once

#include "impart/core/named_table.h"

namespace impart::placement {

// Workers that train on their own for some steps and then agree on common weights: how the mean of
// their weights becomes those that all go on from ("outer optimisers").

/// What an outer step does to every weight. θ₀ are the weights that all workers started from, m the
/// mean of theirs, Δ = θ₀ − m, and v, zero at first, is kept from step to step:
///
///     v ← keep · v + gain · Δ
///     θ = m + back · Δ + push · v
///
/// Written from the mean, so that a rule with back = push = 0 is the mean, bit for bit.
struct OuterFactors {
  double keep = 0, gain = 0;
  double back = 0, push = 0;

  bool is_mean() const { return back == 0 && push == 0; }
};

/// What a rule is told.
struct OuterRates {
  double lr = 1;        ///< of the outer step: η, α
  double momentum = 0;  ///< of the outer step: μ, β
  double inner_lr = 1;  ///< of the workers' last step: γ
};

using OuterRule = OuterFactors(const OuterRates& rates);

/// θ = m.
OuterRule keep_mean;
/// v ← μv + Δ; θ = θ₀ − η(Δ + μv).
OuterRule step_with_nesterov;
/// v ← βv + Δ/γ; θ = θ₀ − αγv. If γ is 0: θ = m.
OuterRule step_with_slow_momentum;

/// A row of kOuters.
struct OuterEntry : Entry<OuterRule> {
  double lr, momentum;  ///< as published, where a run does not say them
};

inline constexpr OuterEntry kOuters[] = {
    {{"average", "the mean of the workers' weights: local SGD, model averaging", keep_mean}, 1, 0},
    {{"nesterov", "Nesterov's momentum over what the workers have changed: DiLoCo",
      step_with_nesterov},
     0.7,
     0.9},
    {{"slowmo", "slow momentum in units of the workers' learning rate: SlowMo",
      step_with_slow_momentum},
     1,
     0.7},
};
static_assert(names_are_unique(kOuters));

/// The name of the rule without rates of its own.
inline constexpr const char* kPlainOuter = "average";

}  // namespace impart::placement
