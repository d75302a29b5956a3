#include "impart/placement/imbalance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/classes.h"
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

/// Half the mean of Σ |share - p| over parts of `size` out of `all`, dealt at random: as of normal
/// numbers of the hypergeometric variance p(1-p)/size · (all-size)/(all-1).
double mean_deviation_of_shares(double deviations, double size, double all) {
  constexpr double kMeanOfAbsoluteNormal = 0.79788456080286536;  // √(2/π)
  if (all <= 1) return 0;
  return kMeanOfAbsoluteNormal * deviations * std::sqrt((all - size) / (all - 1) / size) / 2;
}

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
  if (labels.size() != partition.examples()) {
    throw ConfigError(
        fmt::format("there are {} labels for {} examples", labels.size(), partition.examples()));
  }
  const Classes classes = number_classes(labels);
  const auto sizes = partition.sizes();
  const auto all = static_cast<double>(labels.size());
  std::vector<std::uint64_t> counts(std::size_t{partition.workers()} * classes.count);
  std::vector<std::uint64_t> totals(classes.count);
  for (std::uint64_t i = 0; i < labels.size(); ++i) {
    const std::uint32_t c = classes.of_example[i];
    ++counts[std::size_t{index(partition.owner(ExampleId{i}))} * classes.count + c];
    ++totals[c];
  }
  std::vector<double> shares;
  double deviations = 0;  // Σ √(p(1-p)), of a draw of one example
  for (const std::uint64_t total : totals) {
    shares.push_back(static_cast<double>(total) / all);
    deviations += std::sqrt(shares.back() * (1 - shares.back()));
  }

  ClassSkew skew;
  double workers = 0;
  for (std::uint32_t worker = 0; worker < partition.workers(); ++worker) {
    if (sizes[worker] == 0) continue;
    const auto size = static_cast<double>(sizes[worker]);
    const auto own = std::span(counts).subspan(std::size_t{worker} * classes.count, classes.count);
    double distance = 0;
    for (std::uint32_t c = 0; c < classes.count; ++c) {
      distance += std::abs(static_cast<double>(own[c]) / size - shares[c]) / 2;
    }
    skew.largest = std::max(skew.largest, distance);
    skew.mean += distance;
    skew.mean_by_chance += mean_deviation_of_shares(deviations, size, all);
    ++workers;
  }
  if (workers > 0) skew.mean /= workers;
  if (workers > 0) skew.mean_by_chance /= workers;
  return skew;
}

double measure_class_skew(const Partition& partition, std::span<const std::uint32_t> labels) {
  return measure_classes(partition, labels).largest;
}

double measure_size_spread(const Partition& partition) {
  if (partition.examples() == 0) return 1;
  const auto sizes = partition.sizes();
  const auto largest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
  return largest * partition.workers() / static_cast<double>(partition.examples());
}

}  // namespace impart::placement
