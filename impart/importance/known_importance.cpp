#include "impart/importance/known_importance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace impart::importance {
namespace {

/// The mean and the largest of the values that are not NaN; 0 if there are none.
struct Summary {
  float mean = 0;
  float largest = 0;
};
Summary summarise(std::span<const float> values) {
  double sum = 0;
  std::uint64_t count = 0;
  float largest = -std::numeric_limits<float>::infinity();
  for (const float value : values) {
    if (std::isnan(value)) continue;
    sum += double{value};
    largest = std::max(largest, value);
    ++count;
  }
  if (count == 0) return {};
  return {static_cast<float>(sum / static_cast<double>(count)), largest};
}

}  // namespace

void settle_importance(std::span<float> importance, std::span<const std::uint32_t> non_finite,
                       std::span<const float> previous) {
  std::vector<std::uint64_t> diverged;
  for (std::uint64_t i = 0; i < importance.size(); ++i) {
    const bool had_non_finite = !non_finite.empty() && non_finite[i] > 0;
    if (had_non_finite || std::isinf(importance[i])) {
      diverged.push_back(i);
      importance[i] = std::numeric_limits<float>::quiet_NaN();
    } else if (std::isnan(importance[i]) && !previous.empty()) {
      importance[i] = previous[i];
    }
  }
  if (diverged.empty()) return;
  const float largest = summarise(importance).largest;
  for (const std::uint64_t i : diverged) importance[i] = largest;
}

void fill_unknown(std::span<float> importance) {
  const auto is_unknown = [](float value) { return std::isnan(value); };
  const auto first = std::find_if(importance.begin(), importance.end(), is_unknown);
  if (first == importance.end()) return;
  std::replace_if(first, importance.end(), is_unknown, summarise(importance).mean);
}

}  // namespace impart::importance
