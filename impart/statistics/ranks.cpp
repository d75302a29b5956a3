#include "impart/statistics/ranks.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace impart::statistics {
namespace {

/// Calls `visit(group, smaller)` for each group of indices of equal values, ascending; `smaller` is
/// how many values precede it.
template <class Visit>
void visit_groups(std::span<const double> values, Visit visit) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    visit(std::span(order).subspan(first, last - first), first);
    first = last;
  }
}

}  // namespace

std::vector<double> midranks(std::span<const double> values) {
  std::vector<double> ranks(values.size());
  visit_groups(values, [&](std::span<const std::size_t> group, std::size_t smaller) {
    const double rank = static_cast<double>(smaller) + (static_cast<double>(group.size()) + 1) / 2;
    for (const std::size_t i : group) ranks[i] = rank;
  });
  return ranks;
}

double tie_correction(std::span<const double> values) {
  double sum = 0;
  visit_groups(values, [&](std::span<const std::size_t> group, std::size_t) {
    const auto t = static_cast<double>(group.size());
    sum += t * t * t - t;
  });
  return sum;
}

}  // namespace impart::statistics
