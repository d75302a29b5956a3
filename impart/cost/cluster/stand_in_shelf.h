#pragma once

#include <cstdint>
#include <vector>

#include "impart/store/shelf.h"

namespace impart::cost {

/// A shelf whose payloads are stand-ins of kBytes each, made from the example's number: what is put
/// on it must be the right one, Error otherwise. Packing, unpacking and the disk take the time of
/// real payloads from the clock of the process.
class StandInShelf final : public store::Shelf {
 public:
  static constexpr std::uint64_t kBytes = 56;

  /// Seconds of one payload.
  struct Times {
    double pack = 0;   ///< copied into a message or out of it, with its hash
    double read = 0;   ///< from disk
    double write = 0;  ///< to disk; counts when it is synced
  };

  /// `numbers`: what examples 0, 1, … of this process are called by all, ascending. Both must
  /// outlive it.
  StandInShelf(const std::vector<std::uint64_t>& numbers, const Times& times, double& clock);

  std::uint64_t examples() const override { return count_; }
  std::vector<ExampleId> held() const override;
  std::optional<std::uint64_t> read(ExampleId id, std::vector<std::byte>& payload) override;
  std::uint64_t copy(ExampleId id, std::span<std::byte> payload) override;
  void put(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) override;
  void forget(ExampleId id) override;
  void sync() override;
  bool syncs() const override { return times_.write > 0; }

  /// Holds it from the start.
  void hold(ExampleId id);

 private:
  std::uint64_t fill(ExampleId id, std::span<std::byte> payload) const;

  const std::vector<std::uint64_t>& numbers_;
  Times times_;
  double& clock_;
  std::vector<bool> holds_;
  std::uint64_t count_ = 0;
  double unsynced_ = 0;
};

}  // namespace impart::cost
