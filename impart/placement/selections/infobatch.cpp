// InfoBatch (Qin et al., ICLR 2024): those below the mean loss are thinned out, and those of them
// that stay weigh more, so that the gradient's expectation is that of all.

#include <algorithm>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {
namespace {

double known_mean(std::span<const ExampleId> ids, std::span<const float> scores) {
  return mean_of(known_of(ids, scores), scores);
}

std::vector<ExampleId> below(double mean, std::span<const ExampleId> part,
                             std::span<const float> scores) {
  std::vector<ExampleId> easy;
  std::copy_if(part.begin(), part.end(), std::back_inserter(easy), [&](ExampleId id) {
    const float score = scores[index(id)];
    return is_known(score) && double{score} < mean;
  });
  return easy;
}

}  // namespace

Selected hide_below_mean(const SelectionInput& input, const SelectionSpec& spec) {
  const bool of_all = spec.scope == SelectionScope::kAll;
  const double mean = of_all ? known_mean(ids_of(input.parts), input.scores) : 0;
  std::vector<std::vector<ExampleId>> easy;
  std::vector<std::uint64_t> counts, wanted;
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const auto part = input.parts.of(WorkerId{worker});
    easy.push_back(below(of_all ? mean : known_mean(part, input.scores), part, input.scores));
    const std::uint64_t size = easy.back().size();
    counts.push_back(std::min(share_with_carry(spec.share, size, spec.epoch),
                              size - (size > 0 ? 1 : 0)));  // somebody must stand for the hidden
    wanted.push_back(part.size() - counts.back());
  }
  const std::uint64_t common = common_visits(wanted, spec);
  Hidden hidden(input.examples);
  std::vector<float> weights(input.examples, 1.0f);
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const std::uint64_t part = input.parts.of(WorkerId{worker}).size();
    const std::uint64_t count = hidden_for(common, part, counts[worker]);
    const auto size = static_cast<double>(easy[worker].size());
    const auto weight = static_cast<float>(size / (size - static_cast<double>(count)));
    for (const ExampleId id : easy[worker]) weights[index(id)] = weight;
    RandomStream random = selecting_stream(spec, WorkerId{worker});
    hide_some(easy[worker], count, random, hidden);
  }
  return {.visits = leave_out(input.parts, hidden), .weights = std::move(weights)};
}

}  // namespace impart::placement
