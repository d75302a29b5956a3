#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/partition.h"
#include "impart/store/held_parts.h"

namespace impart::store {

/// Who really holds what, after whatever ended the last run: for every example one worker that
/// holds it, its owner if that does, or nobody. 4 bytes per example.
class Holdings {
 public:
  explicit Holdings(std::vector<std::uint32_t> holders) : holders_(std::move(holders)) {}

  std::optional<WorkerId> holder(ExampleId id) const {
    const std::uint32_t found = holders_[index(id)];
    if (found == 0) return std::nullopt;
    return WorkerId{found - 1};
  }

 private:
  std::vector<std::uint32_t> holders_;  ///< worker + 1, 0 for nobody
};

/// Syncs what an earlier process may have left to the operating system, before others rely on it.
void make_holdings_last(HeldParts& parts);

/// All processes get the same. 8 bytes per example are reduced.
/// Collective: every process calls it, in the same order.
Holdings agree_on_holdings(HeldParts& parts, const placement::Partition& partition,
                           comm::Communicator& communicator);

/// Hosted workers forget what they hold beside the chosen holder.
void forget_duplicates(HeldParts& parts, const Holdings& holdings);

/// Hosted workers take what they own and nobody holds from the data set.
void read_missing(HeldParts& parts, const Holdings& holdings, const placement::Partition& partition,
                  const data::PayloadSource& source);

/// From the holders to the owners.
placement::MovePlan moves_to(const Holdings& holdings, const placement::Partition& partition);

}  // namespace impart::store
