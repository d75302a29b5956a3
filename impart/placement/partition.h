#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impart/core/ids.h"
#include "impart/core/progress.h"

namespace impart::placement {

/// The examples of every worker, worker after worker, each list in an order of its own.
class Parts {
 public:
  /// Lists of these lengths, to be filled in through `of`.
  explicit Parts(std::span<const std::uint64_t> sizes);

  std::uint32_t workers() const { return static_cast<std::uint32_t>(starts_.size() - 1); }
  std::span<const ExampleId> of(WorkerId worker) const {
    return std::span(ids_).subspan(starts_[index(worker)], size_of(worker));
  }
  std::span<ExampleId> of(WorkerId worker) {
    return std::span(ids_).subspan(starts_[index(worker)], size_of(worker));
  }

 private:
  std::uint64_t size_of(WorkerId worker) const {
    return starts_[index(worker) + 1] - starts_[index(worker)];
  }

  std::vector<std::uint64_t> starts_;
  std::vector<ExampleId> ids_;
};

/// The same lists.
Parts parts_of(std::span<const std::vector<ExampleId>> lists);

/// Who owns what: every example 0..N-1 has exactly one owning worker 0..n-1. 4 bytes per example.
class Partition {
 public:
  /// ConfigError if there cannot be so many workers, DataError if an owner is not below it.
  Partition(std::vector<WorkerId> owners, std::uint32_t workers);

  std::uint64_t examples() const { return owners_.size(); }
  std::uint32_t workers() const { return workers_; }
  WorkerId owner(ExampleId id) const { return owners_[index(id)]; }
  std::span<const WorkerId> owners() const { return owners_; }

  /// How many examples each worker owns.
  std::vector<std::uint64_t> sizes() const;
  /// Every worker's examples, ids ascending.
  Parts parts() const;

  bool operator==(const Partition&) const = default;

 private:
  std::vector<WorkerId> owners_;
  std::uint32_t workers_;
};

/// Decisions keep lists for every worker: more of them than any machine has are a mistake.
inline constexpr std::uint32_t kMostWorkers = 1 << 20;

/// ConfigError if it is 0 or over kMostWorkers; for decisions to call before they divide by it.
void check_worker_count(std::uint32_t workers);

/// Owners as a column file (`id,worker`; see core/column_file.h). The number of workers is not in
/// the file: reading takes 0 to mean "the largest owner + 1".
Partition read_partition(const std::string& path, std::uint32_t workers = 0,
                         const Progress& progress = {});
void write_partition(const std::string& path, const Partition& partition,
                     const Progress& progress = {});

}  // namespace impart::placement
