// KAKURENBO (Nguyen et al., NeurIPS 2023): the examples with the lowest losses are hidden, unless
// the model is not sure of them.

#include <algorithm>
#include <array>

#include "impart/placement/carry.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {
namespace {

/// What the share is multiplied with, in equal stages of the run.
constexpr std::array kStages = {1.0, 0.8, 0.6, 0.4};

double share_now(const SelectionSpec& spec) {
  if (spec.epochs == 0) return spec.share;
  const std::uint64_t stage = kStages.size() * std::uint64_t{spec.epoch} / spec.epochs;
  return spec.share * kStages[std::min<std::uint64_t>(stage, kStages.size() - 1)];
}

}  // namespace

Selected hide_confident(const SelectionInput& input, const SelectionSpec& spec) {
  // The probability of the right class is exp(-loss); a logarithm of our own is the same
  // everywhere.
  const double largest_loss = -portable_log(spec.confidence);
  Hidden hidden(input.examples);
  for_each_pool(input.parts, spec.scope, [&](std::span<const ExampleId> pool) {
    const std::uint64_t count = share_with_carry(share_now(spec), pool.size(), spec.epoch);
    for (const ExampleId id : lowest(known_of(pool, input.scores), input.scores, count)) {
      const bool is_sure = double{input.scores[index(id)]} <= largest_loss;
      hidden[index(id)] = is_sure && input.correct[index(id)] != 0;
    }
  });
  show_for_steps(input.parts, spec, hidden, [&](const auto& ids, std::uint64_t count) {
    return lowest(ids, input.scores, count);
  });
  return {.visits = leave_out(input.parts, hidden)};
}

}  // namespace impart::placement
