#pragma once

#include <span>
#include <vector>

#include "impart/core/random.h"

namespace impart::placement {

/// Shares that add up to 1, drawn from the Dirichlet distribution with these parameters: gamma
/// variates by Marsaglia and Tsang (2000), normalised. They are kept as logarithms until then, so
/// that parameters near 0 give one share of 1 and not 0/0. A parameter of 0 has the share 0; at
/// least one is above 0.
std::vector<double> draw_shares(std::span<const double> parameters, RandomStream& random);

}  // namespace impart::placement
