// Importance sampling (Katharopoulos and Fleuret, ICML 2018), of a worker's part instead of a
// batch's candidates.

#include <algorithm>
#include <cmath>
#include <utility>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {
namespace {

/// τ = (1 - ‖g-u‖²/‖g‖²)^(-½) for g = I/ΣI and uniform u, which is √(N·ΣI²)/ΣI: how many times
/// larger a uniform batch is worth as much. 0 if nothing is important.
double gain_of(std::span<const ExampleId> known, std::span<const float> scores, double shift) {
  double sum = 0, squares = 0;
  for (const ExampleId id : known) {
    const double importance = double{scores[index(id)]} + shift;
    sum += importance;
    squares += importance * importance;
  }
  return sum > 0 ? std::sqrt(static_cast<double>(known.size()) * squares) / sum : 0;
}

std::vector<double> probabilities(std::span<const ExampleId> known, std::span<const float> scores,
                                  double shift, double mix) {
  double sum = 0;
  for (const ExampleId id : known) sum += double{scores[index(id)]} + shift;
  const double uniform = 1 / static_cast<double>(known.size());
  std::vector<double> chances;
  chances.reserve(known.size());
  for (const ExampleId id : known) {
    const double share = sum > 0 ? (double{scores[index(id)]} + shift) / sum : uniform;
    chances.push_back((1 - mix) * uniform + mix * share);
  }
  return chances;
}

/// Draws positions by their chances in constant time (Walker's aliases, made as Vose does): a
/// column for each, which keeps a part of its draws and gives the others to one alias.
class AliasTable {
 public:
  /// Chances sum to 1.
  explicit AliasTable(std::span<const double> chances)
      : kept_(chances.size(), 1.0), alias_(chances.size()) {
    const auto size = static_cast<double>(chances.size());
    std::vector<std::size_t> small, large;
    for (std::size_t i = 0; i < chances.size(); ++i) {
      kept_[i] = chances[i] * size;
      (kept_[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::size_t poor = small.back(), rich = large.back();
      small.pop_back();
      alias_[poor] = rich;
      kept_[rich] -= 1 - kept_[poor];
      if (kept_[rich] >= 1) continue;
      large.pop_back();
      small.push_back(rich);
    }
    // What is left is 1 but for rounding, which must not draw what has no chance.
    const auto likeliest = std::max_element(chances.begin(), chances.end()) - chances.begin();
    for (const std::size_t i : small) {
      kept_[i] = chances[i] > 0 ? 1 : 0;
      alias_[i] = static_cast<std::size_t>(likeliest);
    }
  }

  std::size_t draw(RandomStream& random) const {
    const std::size_t column = random.below(kept_.size());
    return random.uniform() < kept_[column] ? column : alias_[column];
  }

 private:
  std::vector<double> kept_;
  std::vector<std::size_t> alias_;
};

/// How often each position is drawn, with replacement.
std::vector<std::uint32_t> draw(std::span<const double> chances, std::uint64_t count,
                                RandomStream& random) {
  const AliasTable table(chances);
  std::vector<std::uint32_t> times(chances.size());
  for (std::uint64_t i = 0; i < count; ++i) ++times[table.draw(random)];
  return times;
}

/// Worker by worker; what they share.
class PartSampler {
 public:
  PartSampler(const SelectionInput& input, const SelectionSpec& spec, double shift)
      : input_(input), spec_(spec), shift_(shift), weights_(input.examples, 1.0f) {}

  /// What is unknown is visited once and for sure; the others share the rest of the draws.
  std::vector<ExampleId> sample(WorkerId worker) {
    const auto part = input_.parts.of(worker);
    const std::vector<ExampleId> known = known_of(part, input_.scores);
    std::vector<ExampleId> list;
    std::set_difference(part.begin(), part.end(), known.begin(), known.end(),
                        std::back_inserter(list));
    const std::uint64_t visits = share_with_carry(spec_.budget, part.size(), spec_.epoch);
    if (known.empty() || visits <= list.size()) return list;
    const double scale = static_cast<double>(visits) / static_cast<double>(part.size());
    for (const ExampleId id : list) weights_[index(id)] = static_cast<float>(scale);
    const std::uint64_t draws = visits - list.size();
    const auto chances = probabilities(known, input_.scores, shift_, spec_.mix);
    RandomStream random = selecting_stream(spec_, worker);
    const auto times = draw(chances, draws, random);
    for (std::size_t at = 0; at < times.size(); ++at) {
      if (times[at] == 0) continue;
      list.insert(list.end(), times[at], known[at]);
      weights_[index(known[at])] =
          static_cast<float>(scale / (static_cast<double>(draws) * chances[at]));
    }
    const auto drawn = list.begin() + static_cast<std::ptrdiff_t>(visits - draws);
    std::inplace_merge(list.begin(), drawn, list.end());
    return list;
  }

  std::vector<float> take_weights() { return std::move(weights_); }

 private:
  const SelectionInput& input_;
  const SelectionSpec& spec_;
  double shift_;
  std::vector<float> weights_;
};

}  // namespace

Selected sample_by_importance(const SelectionInput& input, const SelectionSpec& spec) {
  const double shift = shift_to_positive(input.scores);
  const std::vector<ExampleId> known = known_of(ids_of(input.parts), input.scores);
  if (!(gain_of(known, input.scores, shift) > spec.threshold)) return visit_all(input, spec);
  PartSampler sampler(input, spec, shift);
  std::vector<std::vector<ExampleId>> lists;
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    lists.push_back(sampler.sample(WorkerId{worker}));
  }
  return {.visits = parts_of(lists), .weights = sampler.take_weights()};
}

}  // namespace impart::placement
