#include <algorithm>
#include <cmath>

#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {
namespace {

/// The first `count` of a part in the order `before`.
template <class Before>
std::vector<ExampleId> first_of(std::span<const ExampleId> part, std::uint64_t count,
                                Before before) {
  std::vector<ExampleId> ids(part.begin(), part.end());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    before);
  ids.resize(count);
  return ids;
}

/// How many swaps bring two sums nearest to each other, when swap j takes hard[j] from the richer
/// and gives it easy[j]; the fewest, if several do.
std::size_t count_swaps(double difference, std::span<const ExampleId> hard,
                        std::span<const ExampleId> easy, const Scores& scores) {
  std::size_t best = 0;
  double smallest = std::abs(difference);
  for (std::size_t swaps = 1; swaps <= hard.size(); ++swaps) {
    difference -= 2 * (scores[hard[swaps - 1]] - scores[easy[swaps - 1]]);
    if (std::abs(difference) < smallest) {
      smallest = std::abs(difference);
      best = swaps;
    }
  }
  return best;
}

}  // namespace

Partition exchange_to_balance(const Partition& current, const Scores& importance,
                              const ExchangeSpec& spec) {
  const auto counts = examples_to_give(current, importance, spec);
  const FiniteScores finite(importance);
  const Scores& scores = finite.view();
  const Parts parts = current.parts();
  std::vector<double> sums(current.workers());
  for (std::uint64_t i = 0; i < current.examples(); ++i) {
    sums[index(current.owner(ExampleId{i}))] += scores[ExampleId{i}];
  }
  const auto harder = [&](ExampleId a, ExampleId b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  const auto easier = [&](ExampleId a, ExampleId b) { return harder(b, a); };
  std::vector<WorkerId> owners(current.owners().begin(), current.owners().end());
  for (const auto& [rich, poor] : pair_extremes(sums, counts)) {
    const std::uint64_t most = std::min(counts[index(rich)], counts[index(poor)]);
    const auto hard = first_of(parts.of(rich), most, harder);
    const auto easy = first_of(parts.of(poor), most, easier);
    const std::size_t swaps =
        count_swaps(sums[index(rich)] - sums[index(poor)], hard, easy, scores);
    for (std::size_t i = 0; i < swaps; ++i) {
      owners[index(hard[i])] = poor;
      owners[index(easy[i])] = rich;
    }
  }
  return {std::move(owners), current.workers()};
}

}  // namespace impart::placement
