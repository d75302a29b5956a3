#include "impart/placement/exchanges.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/carry.h"
#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {

std::uint64_t examples_to_give(const Partition& current, const Scores& importance,
                               const ExchangeSpec& spec) {
  if (!(spec.fraction >= 0 && spec.fraction <= 1)) {
    throw ConfigError(fmt::format("exchange fraction {} is not between 0 and 1", spec.fraction));
  }
  if (importance.size() != current.examples()) {
    throw ConfigError(
        fmt::format("there are {} scores for {} examples", importance.size(), current.examples()));
  }
  const auto sizes = current.sizes();
  const std::uint64_t smallest = *std::min_element(sizes.begin(), sizes.end());
  return share_with_carry(spec.fraction, smallest, spec.earlier_exchanges);
}

RandomStream choosing_stream(const ExchangeSpec& spec, WorkerId worker) {
  return RandomStream(
      {.seed = spec.seed, .purpose = Purpose("exchange"), .epoch = spec.epoch, .worker = worker});
}

Partition send_along_permutations(const Partition& current, const Chosen& chosen,
                                  const ExchangeSpec& spec) {
  std::vector<WorkerId> owners(current.owners().begin(), current.owners().end());
  RandomStream random(
      {.seed = spec.seed, .purpose = Purpose("exchange-route"), .epoch = spec.epoch});
  std::vector<WorkerId> receiver(current.workers());
  const std::size_t count = chosen.front().size();
  for (std::size_t slot = 0; slot < count; ++slot) {
    for (std::uint32_t worker = 0; worker < current.workers(); ++worker) {
      receiver[worker] = WorkerId{worker};
    }
    shuffle(std::span(receiver), random);
    for (std::uint32_t worker = 0; worker < current.workers(); ++worker) {
      owners[index(chosen[worker][slot])] = receiver[worker];
    }
  }
  return {std::move(owners), current.workers()};
}

std::vector<std::pair<WorkerId, WorkerId>> pair_extremes(std::span<const double> keys) {
  std::vector<WorkerId> order(keys.size());
  for (std::uint32_t worker = 0; worker < keys.size(); ++worker) order[worker] = WorkerId{worker};
  std::stable_sort(order.begin(), order.end(),
                   [&](WorkerId a, WorkerId b) { return keys[index(a)] > keys[index(b)]; });
  std::vector<std::pair<WorkerId, WorkerId>> pairs;
  for (std::size_t i = 0; i < order.size() / 2; ++i) {
    pairs.emplace_back(order[i], order[order.size() - 1 - i]);
  }
  return pairs;
}

}  // namespace impart::placement
