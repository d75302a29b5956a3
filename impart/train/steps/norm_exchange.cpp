#include "impart/train/steps/norm_exchange.h"

#include <algorithm>
#include <memory>

namespace impart::train {
namespace {

/// The store's moves have tags 1 and 2.
constexpr std::uint32_t kSumsTag = 3;

/// The workers that are in both.
placement::HostedWorkers overlap(const placement::HostedWorkers& a,
                                 const placement::HostedWorkers& b) {
  const std::uint32_t first = std::max(a.first, b.first);
  const std::uint32_t end = std::min(a.first + a.count, b.first + b.count);
  return {.first = first, .count = end > first ? end - first : 0};
}

/// sum[i] += row[i], row after row.
void add_to(std::span<double> sum, std::span<const double> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) sum[i % sum.size()] += rows[i];
}

}  // namespace

NormExchange::NormExchange(const placement::NormGroups& groups, comm::Communicator& communicator)
    : groups_(groups),
      communicator_(communicator),
      hosted_(placement::hosted_workers(groups.workers, communicator.rank(), communicator.size())) {
}

/// The rows of all processes that have some of the group, in the order of ranks.
std::vector<double> NormExchange::gather(std::uint32_t group, std::span<const double> mine,
                                         std::size_t width, const CountRows& count_rows) {
  const auto members = groups_.members(group);
  const std::uint32_t processes = groups_.processes;
  const auto rank_of = [&](std::uint32_t worker) {
    return placement::hosting_process(WorkerId{worker}, groups_.workers, processes);
  };
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  const std::uint32_t first = rank_of(members.first);
  for (std::uint32_t rank = first; rank <= rank_of(members.first + members.count - 1); ++rank) {
    const auto there = placement::hosted_workers(groups_.workers, rank, processes);
    ends.push_back(end += count_rows(overlap(members, there)) * width);
  }
  std::vector<double> all(end);
  std::vector<std::unique_ptr<comm::PendingOperation>> pending;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t start = i == 0 ? 0 : ends[i - 1];
    const auto place = std::span(all).subspan(start, ends[i] - start);
    const auto rank = first + static_cast<std::uint32_t>(i);
    if (rank == communicator_.rank()) {
      std::ranges::copy(mine, place.begin());
      continue;
    }
    pending.push_back(communicator_.start_receive(std::as_writable_bytes(place), rank, kSumsTag));
    pending.push_back(communicator_.start_send(std::as_bytes(mine), rank, kSumsTag));
    bytes_sent_ += mine.size_bytes();
  }
  for (const auto& operation : pending) operation->wait();
  return all;
}

void NormExchange::add_up(std::span<double> sums, std::int64_t width) {
  if (groups_.size == groups_.workers) {
    bytes_sent_ += communicator_.cost_of_all_reduce(sums.size_bytes()).bytes;
    return communicator_.all_reduce_sum(sums);
  }
  const auto one = [](const placement::HostedWorkers&) { return std::size_t{1}; };
  for (std::uint32_t place = 0; place < count(); ++place) {
    const std::uint32_t group = groups_.group_of(hosted_.first) + place;
    if (!groups_.is_cut(group)) continue;
    const auto sum = sums.subspan(place * static_cast<std::size_t>(width), width);
    const std::vector<double> rows = gather(group, sum, sum.size(), one);
    std::ranges::fill(sum, 0.0);
    add_to(sum, rows);
  }
}

void NormExchange::add_rows(std::span<const double> rows, std::int64_t width,
                            std::span<double> sums) {
  const auto row = static_cast<std::size_t>(width);
  const auto all_rows = [](const placement::HostedWorkers& shared) {
    return std::size_t{shared.count};
  };
  std::ranges::fill(sums, 0.0);
  for (std::uint32_t place = 0; place < count(); ++place) {
    const std::uint32_t group = groups_.group_of(hosted_.first) + place;
    const auto here = overlap(groups_.members(group), hosted_);
    const auto mine = rows.subspan((here.first - hosted_.first) * row, here.count * row);
    const auto sum = sums.subspan(place * row, row);
    if (groups_.is_cut(group)) {
      add_to(sum, gather(group, mine, row, all_rows));
    } else {
      add_to(sum, mine);
    }
  }
}

}  // namespace impart::train
