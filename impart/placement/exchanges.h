#pragma once

#include <cstdint>

#include "impart/core/named_table.h"
#include "impart/core/scores.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// How much is exchanged, and which of the run's exchanges it is.
struct ExchangeSpec {
  double fraction = 0.1;  ///< Q: which share of its part a worker gives away, 0..1
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  /// How many exchanges of the run came before this one: what rounding left over from them is made
  /// up for, so that the long-run mean is Q.
  std::uint64_t earlier_exchanges = 0;
};

/// Moves a share of the examples to other workers: one in, one out, so no part changes its size.
/// Pure: equal inputs, equal partition. ConfigError if the spec cannot be met.
///
/// Random choices: worker w chooses from the stream (seed, "exchange", epoch, w), what all share is
/// drawn from (seed, "exchange-route", epoch).
using Exchange = Partition(const Partition& current, const Scores& importance,
                           const ExchangeSpec& spec);

Exchange exchange_uniformly, exchange_by_importance, exchange_in_pairs, exchange_to_balance;

/// Where an exchange's importance comes from.
enum class ImportanceSource {
  kNone,           ///< it uses none
  kInferenceLoss,  ///< a forward pass over the worker's part with the current model
  kTrainingLoss,   ///< what training recorded in the previous epoch ("lagging loss")
  kNotion,         ///< the run's importance notion
};

/// An exchange and what it looks at: a row of kExchanges, or any function.
struct AnyExchange : AnyEntry<Exchange> {
  ImportanceSource source = ImportanceSource::kNone;
};

/// A row of kExchanges.
struct ExchangeEntry : Entry<Exchange> {
  ImportanceSource source;

  operator AnyExchange() const {  // NOLINT: a row converts
    return {{std::string(name), std::string(summary), function}, source};
  }
};

inline constexpr ExchangeEntry kExchanges[] = {
    {{"partial", "random examples to random workers", exchange_uniformly}, ImportanceSource::kNone},
    {{"is", "important examples likelier, to random workers", exchange_by_importance},
     ImportanceSource::kInferenceLoss},
    {{"is-pair", "important examples likelier, swapped inside pairs of workers", exchange_in_pairs},
     ImportanceSource::kInferenceLoss},
    {{"ilag-pair", "is-pair with the losses that training has recorded anyway", exchange_in_pairs},
     ImportanceSource::kTrainingLoss},
    {{"balance-pair", "rich and poor workers swap hard for easy until their sums agree",
      exchange_to_balance},
     ImportanceSource::kNotion},
};
static_assert(names_are_unique(kExchanges));

}  // namespace impart::placement
