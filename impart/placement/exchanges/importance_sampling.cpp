#include <algorithm>

#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {
namespace {

/// One example in the race for the first places: it arrives after an exponential time whose rate is
/// its importance, so the first `count` to arrive are a weighted sample without replacement. Those
/// without importance arrive after all others, in random order.
struct Runner {
  bool unimportant;
  double time;
  ExampleId example;
  auto operator<=>(const Runner&) const = default;
};

double smallest_or_zero(const Scores& scores) {
  return scores.visit([](auto values) {
    double smallest = 0;
    for (const auto value : values) smallest = std::min(smallest, double{value});
    return smallest;
  });
}

}  // namespace

Chosen choose_by_importance(const Parts& parts, const Scores& importance,
                            std::span<const std::uint64_t> counts, const ExchangeSpec& spec) {
  const FiniteScores finite(importance);
  const Scores& scores = finite.view();
  const double shift = -smallest_or_zero(scores);
  Chosen chosen(parts.workers());
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    RandomStream random = choosing_stream(spec, WorkerId{worker});
    const auto part = parts.of(WorkerId{worker});
    std::vector<Runner> race;
    race.reserve(part.size());
    for (const ExampleId example : part) {
      const double weight = scores[example] + shift;
      const double wait = random.exponential();
      race.push_back({weight <= 0, weight > 0 ? wait / weight : wait, example});
    }
    const auto last = race.begin() + static_cast<std::ptrdiff_t>(counts[worker]);
    std::partial_sort(race.begin(), last, race.end());
    for (auto runner = race.begin(); runner != last; ++runner) {
      chosen[worker].push_back(runner->example);
    }
  }
  return chosen;
}

Partition exchange_by_importance(const Partition& current, const Scores& importance,
                                 const ExchangeSpec& spec) {
  const auto counts = examples_to_give(current, importance, spec);
  const Chosen chosen = choose_by_importance(current.parts(), importance, counts, spec);
  return send_along_permutations(current, chosen, spec);
}

}  // namespace impart::placement
