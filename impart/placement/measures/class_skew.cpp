#include "impart/placement/measures/class_skew.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/classes.h"

namespace impart::placement {
namespace {

Classes classes_of(const Partition& partition, std::span<const std::uint32_t> labels) {
  if (labels.size() == partition.examples()) return number_classes(labels);
  throw ConfigError(
      fmt::format("there are {} labels for {} examples", labels.size(), partition.examples()));
}

std::vector<double> shares_of(const Classes& classes) {
  std::vector<double> shares(classes.count);
  for (const std::uint32_t c : classes.of_example) ++shares[c];
  for (double& share : shares) share /= static_cast<double>(classes.of_example.size());
  return shares;
}

/// E|X - np| of a binomial X (de Moivre): 2 (1-p) k P(X = k) with k = ⌊np⌋ + 1.
double mean_deviation(std::uint64_t n, double p) {
  if (p <= 0 || p >= 1) return 0;
  const auto draws = static_cast<double>(n), k = std::floor(draws * p) + 1;
  const double log_chance = std::lgamma(draws + 1) - std::lgamma(k + 1) -
                            std::lgamma(draws - k + 1) + k * std::log(p) +
                            (draws - k) * std::log1p(-p);
  return 2 * (1 - p) * k * std::exp(log_chance);
}

double mean_distance(std::span<const double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> class_distances(const Partition& partition,
                                    std::span<const std::uint32_t> labels) {
  const Classes classes = classes_of(partition, labels);
  const std::vector<double> shares = shares_of(classes);
  const std::vector<std::uint64_t> sizes = partition.sizes();
  std::vector<std::uint64_t> counts(std::size_t{partition.workers()} * classes.count);
  for (std::uint64_t i = 0; i < labels.size(); ++i) {
    const std::size_t worker = index(partition.owner(ExampleId{i}));
    ++counts[worker * classes.count + classes.of_example[i]];
  }
  std::vector<double> distances;
  for (std::uint32_t worker = 0; worker < partition.workers(); ++worker) {
    if (sizes[worker] == 0) continue;
    double distance = 0;
    for (std::uint32_t c = 0; c < classes.count; ++c) {
      const auto count = static_cast<double>(counts[std::size_t{worker} * classes.count + c]);
      distance += std::abs(count / static_cast<double>(sizes[worker]) - shares[c]);
    }
    distances.push_back(distance / 2);
  }
  return distances;
}

double mean_class_skew(const Partition& partition, std::span<const std::uint32_t> labels) {
  return mean_distance(class_distances(partition, labels));
}

double expected_class_skew(const Partition& partition, std::span<const std::uint32_t> labels) {
  const std::vector<double> shares = shares_of(classes_of(partition, labels));
  const auto others = static_cast<double>(std::max<std::uint64_t>(2, labels.size()) - 1);
  std::map<std::uint64_t, double> by_size;  // there are few sizes
  std::vector<double> distances;
  for (const std::uint64_t size : partition.sizes()) {
    if (size == 0) continue;
    const auto [place, is_new] = by_size.try_emplace(size, 0.0);
    for (std::size_t c = 0; is_new && c < shares.size(); ++c) {
      place->second += mean_deviation(size, shares[c]) / static_cast<double>(2 * size);
    }
    // Nothing is dealt twice: the larger a part, the more it is like the whole.
    const auto rest = static_cast<double>(labels.size() - size);
    distances.push_back(place->second * std::sqrt(rest / others));
  }
  return mean_distance(distances);
}

}  // namespace impart::placement
