#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/classes.h"
#include "impart/placement/cuts.h"
#include "impart/placement/starts.h"
#include "impart/placement/starts/dirichlet_shares.h"

namespace impart::placement {
namespace {

/// The examples of every class, shuffled.
std::vector<std::vector<ExampleId>> shuffle_classes(const StartSpec& spec) {
  const Classes classes = number_classes(spec.labels);
  std::vector<std::vector<ExampleId>> ids(classes.count);
  for (std::uint64_t i = 0; i < spec.examples; ++i) {
    ids[classes.of_example[i]].push_back(ExampleId{i});
  }
  RandomStream random({.seed = spec.seed, .purpose = Purpose("start-deal")});
  for (auto& of_class : ids) shuffle(std::span(of_class), random);
  return ids;
}

RandomStream share_stream(const StartSpec& spec) {
  return RandomStream({.seed = spec.seed, .purpose = Purpose("start-shares")});
}

/// Whole numbers that add up to `total` and are near to shares of it: what rounding down leaves
/// goes to the largest remainders, ties to the first.
std::vector<std::uint64_t> round_shares(std::span<const double> shares, std::uint64_t total) {
  std::vector<std::uint64_t> counts;
  std::vector<double> remainders;
  for (const double share : shares) {
    const double exact = share * static_cast<double>(total);
    counts.push_back(static_cast<std::uint64_t>(exact));
    remainders.push_back(exact - std::floor(exact));
  }
  const auto dealt = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::uint64_t i = dealt; i < total; ++i) ++counts[order[(i - dealt) % order.size()]];
  return counts;
}

/// For each class, how it is shared out over the workers: Yurochkin et al. 2019.
std::vector<WorkerId> share_out_classes(const StartSpec& spec) {
  std::vector<WorkerId> owners(spec.examples);
  const std::vector<double> parameters(spec.workers, spec.alpha);
  RandomStream random = share_stream(spec);
  for (const auto& of_class : shuffle_classes(spec)) {
    const auto counts = round_shares(draw_shares(parameters, random), of_class.size());
    auto next = of_class.begin();
    for (std::uint32_t worker = 0; worker < spec.workers; ++worker) {
      for (std::uint64_t i = 0; i < counts[worker]; ++i) owners[index(*next++)] = WorkerId{worker};
    }
  }
  return owners;
}

/// A worker's mix of classes, from which classes drop out as they run out.
class ClassMix {
 public:
  ClassMix(std::vector<double> shares, std::span<const std::vector<ExampleId>> left)
      : shares_(std::move(shares)), sums_(shares_.size()) {
    for (std::size_t c = 0; c < shares_.size(); ++c) {
      if (left[c].empty()) shares_[c] = 0;
    }
    add_up();
  }

  void drop(std::size_t c) {
    shares_[c] = 0;
    add_up();
  }
  /// Nothing of what it likes is left.
  bool is_empty() const { return sums_.back() <= 0; }
  std::size_t draw(RandomStream& random) const {
    const double at = random.uniform() * sums_.back();
    return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), at) -
                                    sums_.begin());
  }

 private:
  void add_up() { std::partial_sum(shares_.begin(), shares_.end(), sums_.begin()); }

  std::vector<double> shares_;
  std::vector<double> sums_;
};

std::vector<double> sizes_of(std::span<const std::vector<ExampleId>> classes, double factor) {
  std::vector<double> sizes;
  for (const auto& of_class : classes) {
    sizes.push_back(factor * static_cast<double>(of_class.size()));
  }
  return sizes;
}

/// Each worker draws its mix of classes around that of all, and fills its part with it: Hsu et al.
/// 2019.
std::vector<WorkerId> fill_parts(const StartSpec& spec) {
  std::vector<WorkerId> owners(spec.examples);
  auto left = shuffle_classes(spec);
  const auto parameters = sizes_of(left, spec.alpha / static_cast<double>(spec.examples));
  RandomStream random = share_stream(spec);
  for (std::uint32_t worker = 0; worker < spec.workers; ++worker) {
    ClassMix mix(draw_shares(parameters, random), left);
    const std::uint64_t end = cut_before(worker + std::uint64_t{1}, spec.examples, spec.workers);
    for (std::uint64_t i = cut_before(worker, spec.examples, spec.workers); i < end; ++i) {
      if (mix.is_empty()) mix = ClassMix(sizes_of(left, 1), left);
      const std::size_t c = mix.draw(random);
      owners[index(left[c].back())] = WorkerId{worker};
      left[c].pop_back();
      if (left[c].empty()) mix.drop(c);
    }
  }
  return owners;
}

}  // namespace

Partition start_by_dirichlet(const StartSpec& spec) {
  check_labelled_start(spec, "dirichlet");
  if (!(spec.alpha >= kLeastAlpha && spec.alpha <= kMostAlpha)) {
    throw ConfigError(
        fmt::format("alpha {} is not between {} and {}", spec.alpha, kLeastAlpha, kMostAlpha));
  }
  if (spec.examples == 0) return {{}, spec.workers};
  return {spec.sizes == PartSizes::kEven ? fill_parts(spec) : share_out_classes(spec),
          spec.workers};
}

}  // namespace impart::placement
