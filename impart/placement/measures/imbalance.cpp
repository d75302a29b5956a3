#include "impart/placement/measures/imbalance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/measures/class_skew.h"
#include "impart/placement/ranking.h"

namespace impart::placement {
namespace {

double coefficient_of_variation(std::span<const double> values) {
  if (values.empty()) return 0;
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double variance = 0;
  for (const double value : values) {
    variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  }
  if (std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; })) return 0;
  return mean == 0 ? std::numeric_limits<double>::quiet_NaN()
                   : std::sqrt(variance) / std::abs(mean);
}

/// Walks down the ranking and compares, for every worker, the share of its examples seen so far
/// with the share of all. The distance of a worker is largest right before or right after a group
/// of equal scores in which it has an example, so only those workers are looked at.
class KolmogorovSmirnov {
 public:
  KolmogorovSmirnov(const Partition& partition, std::span<const std::uint64_t> sizes)
      : partition_(partition), sizes_(sizes), seen_(sizes.size()), seen_before_(sizes.size()) {}

  void visit(ExampleId example, double score) {
    if (!group_.empty() && score != group_score_) close_group();
    group_score_ = score;
    const WorkerId owner = partition_.owner(example);
    if (seen_[index(owner)] == seen_before_[index(owner)]) group_.push_back(owner);
    ++seen_[index(owner)];
    ++total_;
  }

  double finish() {
    close_group();
    return largest_;
  }

 private:
  void close_group() {
    const auto all = static_cast<double>(partition_.examples());
    for (const WorkerId owner : group_) {
      const auto size = static_cast<double>(sizes_[index(owner)]);
      const double before = static_cast<double>(seen_before_[index(owner)]) / size -
                            static_cast<double>(total_before_) / all;
      const double after =
          static_cast<double>(seen_[index(owner)]) / size - static_cast<double>(total_) / all;
      largest_ = std::max({largest_, std::abs(before), std::abs(after)});
      seen_before_[index(owner)] = seen_[index(owner)];
    }
    total_before_ = total_;
    group_.clear();
  }

  const Partition& partition_;
  std::span<const std::uint64_t> sizes_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint64_t> seen_before_;  ///< before the current group of equal scores
  std::uint64_t total_ = 0;
  std::uint64_t total_before_ = 0;
  std::vector<WorkerId> group_;  ///< workers that have an example in it
  double group_score_ = 0;
  double largest_ = 0;
};

}  // namespace

Imbalance measure_imbalance(const Partition& partition, const Scores& importance) {
  if (importance.size() != partition.examples()) {
    throw ConfigError(fmt::format("there are {} scores for {} examples", importance.size(),
                                  partition.examples()));
  }
  const FiniteScores finite(importance);
  const Scores& scores = finite.view();
  Imbalance imbalance{.sizes = partition.sizes(), .sums = std::vector<double>(partition.workers())};
  scores.visit([&](auto values) {
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      imbalance.sums[index(partition.owner(ExampleId{i}))] += double{values[i]};
    }
  });
  std::vector<double> means;
  for (std::uint32_t worker = 0; worker < partition.workers(); ++worker) {
    if (imbalance.sizes[worker] == 0) continue;
    means.push_back(imbalance.sums[worker] / static_cast<double>(imbalance.sizes[worker]));
  }
  imbalance.cv = coefficient_of_variation(means);

  KolmogorovSmirnov distances(partition, imbalance.sizes);
  visit_by_importance(scores, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) distances.visit(id, scores[id]);
  });
  imbalance.ks = distances.finish();
  return imbalance;
}

ClassSkew measure_classes(const Partition& partition, std::span<const std::uint32_t> labels) {
  const std::vector<double> distances = class_distances(partition, labels);
  return {.largest = distances.empty() ? 0 : *std::ranges::max_element(distances),
          .mean = mean_class_skew(partition, labels),
          .mean_by_chance = expected_class_skew(partition, labels)};
}

double measure_class_skew(const Partition& partition, std::span<const std::uint32_t> labels) {
  const std::vector<double> distances = class_distances(partition, labels);
  return distances.empty() ? 0 : *std::ranges::max_element(distances);
}

double measure_size_spread(const Partition& partition) {
  if (partition.examples() == 0) return 1;
  const auto sizes = partition.sizes();
  const auto largest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
  return largest * partition.workers() / static_cast<double>(partition.examples());
}

}  // namespace impart::placement
