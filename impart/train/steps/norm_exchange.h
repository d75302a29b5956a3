#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/models/layers/shared_sums.h"
#include "impart/placement/norm_groups.h"

namespace impart::train {

/// Adds up batch norm's sums over the processes that have workers of a group. Groups that lie in
/// one process cost nothing.
///
/// Bytes sent by a process, for a row of b bytes: one group of all workers goes as an all-reduce,
/// 2·b·(P-1)/P; of any other, each process sends its row to the p - 1 others, (p-1)·b. From the
/// rows of single workers it is (p-1)·b for each of them, whichever the group.
class NormExchange final : public models::SharedSums {
 public:
  NormExchange(const placement::NormGroups& groups, comm::Communicator& communicator);

  const placement::NormGroups& groups() const { return groups_; }
  const placement::HostedWorkers& hosted() const { return hosted_; }
  /// Groups that have workers here, and which of them a hosted worker belongs to, both from 0.
  std::uint32_t count() const { return groups_.count_among(hosted_); }
  std::uint32_t place_of(std::uint32_t worker) const {
    return groups_.group_of(hosted_.first + worker) - groups_.group_of(hosted_.first);
  }

  /// `sums` has a row for each group here, of the process's own rows.
  void add_up(std::span<double> sums, std::int64_t width) override;

  /// The same from a row for each worker here: the same bits for every number of processes.
  /// Collective: every process calls it, in the same order.
  void add_rows(std::span<const double> rows, std::int64_t width, std::span<double> sums);

  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  /// How many rows a process has of a group.
  using CountRows = std::function<std::size_t(const placement::HostedWorkers& shared)>;

  std::vector<double> gather(std::uint32_t group, std::span<const double> mine, std::size_t width,
                             const CountRows& count_rows);

  placement::NormGroups groups_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace impart::train
