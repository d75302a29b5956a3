#include "impart/placement/outers.h"

namespace impart::placement {

OuterFactors keep_mean(const OuterRates&) {
  return {};
}

OuterFactors step_with_nesterov(const OuterRates& rates) {
  return {
      .keep = rates.momentum, .gain = 1, .back = 1 - rates.lr, .push = -rates.lr * rates.momentum};
}

OuterFactors step_with_slow_momentum(const OuterRates& rates) {
  if (rates.inner_lr == 0) return {.keep = 1};
  return {.keep = rates.momentum,
          .gain = 1 / rates.inner_lr,
          .back = 1,
          .push = -rates.lr * rates.inner_lr};
}

}  // namespace impart::placement
