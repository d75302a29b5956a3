#include "impart/placement/exchanges.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/carry.h"
#include "impart/placement/exchanges/exchange_steps.h"

namespace impart::placement {

std::vector<std::uint64_t> examples_to_give(const Partition& current, const Scores& importance,
                                            const ExchangeSpec& spec) {
  if (!(spec.fraction >= 0 && spec.fraction <= 1)) {
    throw ConfigError(fmt::format("exchange fraction {} is not between 0 and 1", spec.fraction));
  }
  if (importance.size() != current.examples()) {
    throw ConfigError(
        fmt::format("there are {} scores for {} examples", importance.size(), current.examples()));
  }
  std::vector<std::uint64_t> sizes = current.sizes();
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  if (*largest - *smallest <= 1) sizes.assign(sizes.size(), *smallest);
  for (std::uint64_t& size : sizes) {
    size = share_with_carry(spec.fraction, size, spec.earlier_exchanges);
  }
  return sizes;
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
  std::vector<WorkerId> givers(current.workers());
  for (std::uint32_t worker = 0; worker < current.workers(); ++worker) {
    givers[worker] = WorkerId{worker};
  }
  for (std::size_t slot = 0;; ++slot) {
    std::erase_if(givers, [&](WorkerId w) { return chosen[index(w)].size() <= slot; });
    if (givers.empty()) break;
    std::vector<WorkerId> receivers = givers;
    shuffle(std::span(receivers), random);
    for (std::size_t i = 0; i < givers.size(); ++i) {
      owners[index(chosen[index(givers[i])][slot])] = receivers[i];
    }
  }
  return {std::move(owners), current.workers()};
}

std::vector<std::pair<WorkerId, WorkerId>> pair_extremes(std::span<const double> keys,
                                                         std::span<const std::uint64_t> offers) {
  std::vector<WorkerId> order;
  for (std::uint32_t worker = 0; worker < keys.size(); ++worker) {
    if (offers[worker] > 0) order.push_back(WorkerId{worker});
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](WorkerId a, WorkerId b) { return keys[index(a)] > keys[index(b)]; });
  std::vector<std::pair<WorkerId, WorkerId>> pairs;
  for (std::size_t i = 0; i < order.size() / 2; ++i) {
    pairs.emplace_back(order[i], order[order.size() - 1 - i]);
  }
  return pairs;
}

}  // namespace impart::placement
