#pragma once

#include <functional>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/placement/heuristics.h"

namespace impart::placement {

/// Deals examples, which come in the order of some ranking, row by row: a row is n neighbours, and
/// each worker gets exactly one of every row (at most one of the last, shorter row). That is the
/// property of stripes, snake, balanced and class-stripes; who gets which inside a row is free.
///
/// With `spec.sticky_to`, an example stays with its owner unless an earlier one of its row did. The
/// others of the row go, in order, to the workers that are left, in the order of preference.
class RowDealer {
 public:
  /// Orders the workers that are left in row `row`, the first choice first. They come in ascending
  /// order.
  using Preference = std::function<void(std::uint64_t row, std::vector<WorkerId>& workers)>;

  /// Called for every example that was given out, in the order of the row.
  using Given = std::function<void(ExampleId example, WorkerId worker)>;

  RowDealer(std::uint64_t examples, const PartitionSpec& spec, Preference preference = {},
            Given given = {});

  /// The next examples of the ranking.
  void deal(std::span<const ExampleId> run);
  /// The partition, after all examples were dealt.
  Partition finish();

 private:
  void deal_row();
  void keep_owners();

  PartitionSpec spec_;
  Preference preference_;
  Given given_;
  std::vector<WorkerId> owners_;
  std::uint64_t row_number_ = 0;
  std::vector<ExampleId> row_;
  std::vector<bool> kept_;   ///< by position in the row
  std::vector<bool> taken_;  ///< by worker
  std::vector<WorkerId> free_;
};

}  // namespace impart::placement
