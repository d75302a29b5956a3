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
double gain_of(const SelectionInput& input, double shift) {
  double known = 0, sum = 0, squares = 0;
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    for (const ExampleId id : input.parts.of(WorkerId{worker})) {
      const float score = input.scores[index(id)];
      if (!is_known(score)) continue;
      const double importance = double{score} + shift;
      known += 1;
      sum += importance;
      squares += importance * importance;
    }
  }
  return sum > 0 ? std::sqrt(known * squares) / sum : 0;
}

std::vector<double> probabilities(std::span<const ExampleId> known, std::span<const float> scores,
                                  double shift, double mix) {
  double sum = 0;
  for (const ExampleId id : known) sum += double{scores[index(id)]} + shift;
  const double uniform = 1 / static_cast<double>(known.size());
  const double slope = sum > 0 ? mix / sum : 0;
  const double floor = sum > 0 ? (1 - mix) * uniform : uniform;
  std::vector<double> chances(known.size());
  std::transform(known.begin(), known.end(), chances.begin(),
                 [&](ExampleId id) { return floor + slope * (double{scores[index(id)]} + shift); });
  return chances;
}

/// Draws positions by their chances in constant time (Walker's aliases, made as Vose does): a
/// column for each, which keeps a part of its draws and gives the others to one alias.
class AliasTable {
 public:
  /// Chances sum to 1.
  explicit AliasTable(std::span<const double> chances) : columns_(chances.size()) {
    const auto size = static_cast<double>(chances.size());
    // Which of the two it is nobody can predict: each is written to both, and counts in one.
    std::vector<std::uint32_t> poor(chances.size()), rich(chances.size());
    std::size_t poor_count = 0, rich_count = 0;
    for (std::uint32_t i = 0; i < chances.size(); ++i) {
      columns_[i] = {.kept = chances[i] * size, .alias = i};
      const bool is_poor = columns_[i].kept < 1;
      poor[poor_count] = rich[rich_count] = i;
      poor_count += is_poor;
      rich_count += !is_poor;
    }
    while (poor_count > 0 && rich_count > 0) {
      Column& taker = columns_[poor[--poor_count]];
      Column& giver = columns_[rich[rich_count - 1]];
      taker.alias = rich[rich_count - 1];
      giver.kept -= 1 - taker.kept;
      const bool is_poor = giver.kept < 1;
      poor[poor_count] = taker.alias;
      poor_count += is_poor;
      rich_count -= is_poor;
    }
    // What is left is 1 but for rounding, which must not draw what has no chance.
    const auto likeliest = std::max_element(chances.begin(), chances.end()) - chances.begin();
    for (const std::uint32_t i : std::span(poor).first(poor_count)) {
      columns_[i] = {.kept = chances[i] > 0 ? 1.0 : 0.0,
                     .alias = static_cast<std::uint32_t>(likeliest)};
    }
  }

  /// One number is enough: what is left of it behind the column says whether to keep.
  std::uint32_t draw(RandomStream& random) const {
    const double place = random.uniform() * static_cast<double>(columns_.size());
    const auto column = std::min(static_cast<std::uint32_t>(place),
                                 static_cast<std::uint32_t>(columns_.size() - 1));
    const Column& drawn = columns_[column];
    const auto moves = static_cast<std::uint32_t>(!(place - column < drawn.kept));
    return column ^ ((column ^ drawn.alias) & (0 - moves));  // no branch: nobody could predict it
  }

 private:
  struct Column {
    double kept;
    std::uint32_t alias;
  };
  std::vector<Column> columns_;
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
      : input_(input), spec_(spec), shift_(shift), weights_(input.examples, 1.0f) {
    std::vector<std::uint64_t> visits;
    for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
      visits.push_back(wanted(WorkerId{worker}));
    }
    common_ = common_visits(visits, spec);
  }

  /// What is unknown is visited once and for sure; the others share the rest of the draws.
  std::vector<ExampleId> sample(WorkerId worker) {
    const auto part = input_.parts.of(worker);
    const std::vector<ExampleId> known = known_of(part, input_.scores);
    std::vector<ExampleId> list;
    if (known.size() < part.size()) {
      std::set_difference(part.begin(), part.end(), known.begin(), known.end(),
                          std::back_inserter(list));
    }
    const std::uint64_t visits = common_ > 0 && !part.empty() ? common_ : wanted(worker);
    if (known.empty() || visits <= list.size()) return list;
    const double scale = static_cast<double>(visits) / static_cast<double>(part.size());
    for (const ExampleId id : list) weights_[index(id)] = static_cast<float>(scale);
    const std::uint64_t draws = visits - list.size();
    const auto chances = probabilities(known, input_.scores, shift_, spec_.mix);
    RandomStream random = selecting_stream(spec_, worker);
    const auto times = draw(chances, draws, random);
    const double rate = scale / static_cast<double>(draws);
    const std::size_t sure = list.size();
    list.resize(visits + 1);
    std::size_t end = sure;
    for (std::size_t at = 0; at < times.size(); ++at) {
      // Nobody can predict whether it was drawn: it is written, and counts if it was.
      list[end] = known[at];
      for (std::uint32_t time = 1; time < times[at]; ++time) list[end + time] = known[at];
      end += times[at];
      const float weight = static_cast<float>(rate / chances[at]);
      float& kept = weights_[index(known[at])];
      kept = times[at] > 0 ? weight : kept;
    }
    list.resize(visits);
    const auto drawn = list.begin() + static_cast<std::ptrdiff_t>(sure);
    std::inplace_merge(list.begin(), drawn, list.end());
    return list;
  }

  std::vector<float> take_weights() { return std::move(weights_); }

 private:
  std::uint64_t wanted(WorkerId worker) const {
    return share_with_carry(spec_.budget, input_.parts.of(worker).size(), spec_.epoch);
  }

  const SelectionInput& input_;
  const SelectionSpec& spec_;
  double shift_;
  std::uint64_t common_ = 0;  ///< visits of all; 0: each its own
  std::vector<float> weights_;
};

}  // namespace

Selected sample_by_importance(const SelectionInput& input, const SelectionSpec& spec) {
  const double shift = shift_to_positive(input.scores);
  if (!(gain_of(input, shift) > spec.threshold)) return visit_all(input, spec);
  PartSampler sampler(input, spec, shift);
  std::vector<std::vector<ExampleId>> lists;
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    lists.push_back(sampler.sample(WorkerId{worker}));
  }
  return {.visits = parts_of(lists), .weights = sampler.take_weights()};
}

}  // namespace impart::placement
