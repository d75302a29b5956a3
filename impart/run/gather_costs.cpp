#include "impart/run/gather_costs.h"

#include <span>
#include <type_traits>

#include "impart/placement/hosted_workers.h"

namespace impart::run {
namespace {

/// Lines up the records of all processes. They are plain numbers, and a job runs one program.
template <class Record>
std::vector<Record> gather_records(std::span<const Record> mine,
                                   const std::vector<std::size_t>& records,
                                   comm::Communicator& communicator) {
  static_assert(std::is_trivially_copyable_v<Record>);
  std::vector<std::size_t> bytes;
  std::size_t total = 0;
  for (const std::size_t count : records) {
    bytes.push_back(count * sizeof(Record));
    total += count;
  }
  std::vector<Record> all(total);
  communicator.all_gather(std::as_bytes(mine), bytes, std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace

LedgerEpoch gather_costs(const EpochCosts& mine, std::uint32_t workers,
                         comm::Communicator& communicator) {
  std::vector<std::size_t> hosted;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    hosted.push_back(placement::hosted_workers(workers, rank, communicator.size()).count);
  }
  const std::vector<std::size_t> one_each(communicator.size(), 1);
  return {.epoch = mine.epoch,
          .workers = gather_records(std::span<const store::StorageCost>(mine.workers), hosted,
                                    communicator),
          .processes = gather_records(std::span<const ProcessCost>(&mine.process, 1), one_each,
                                      communicator)};
}

}  // namespace impart::run
