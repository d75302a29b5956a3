#include "impart/statistics/holm.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::statistics {

std::vector<double> adjust_by_holm(std::span<const double> p_values) {
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i] >= 0 && p_values[i] <= 1) continue;
    throw DataError(fmt::format("p-value {} of {} is {}, it must be between 0 and 1", i,
                                p_values.size(), p_values[i]));
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double product = p_values[order[i]] * static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, product));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace impart::statistics
