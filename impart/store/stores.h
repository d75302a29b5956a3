#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "impart/comm/communicator.h"
#include "impart/core/named_table.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/store/cache/policies.h"
#include "impart/store/store.h"

namespace impart::store {

/// What each process keeps of what it has read from the data set.
struct CacheSpec {
  std::uint64_t memory_bytes = 0;  ///< 0: none
  std::string disk_path = {};      ///< a local folder; empty: none
  std::uint64_t disk_bytes = 0;
  const CachePolicyEntry* policy = &kCachePolicies[0];
  bool cooperative = false;  ///< processes ask each other before the data set
  MoveFrom move_from = MoveFrom::kAuto;
  std::uint32_t steps_ahead = 4;
};

/// What a run says of its store; a kind takes what it has a use for.
struct StoreSpec {
  std::uint32_t workers = 1;
  CacheSpec cache = {};
  std::string path = {};      ///< a local folder to keep parts in; empty: in memory
  std::string data_id = {};   ///< names the data set: a folder of another one is refused
  bool moves_behind = false;  ///< examples move on a thread of the store, while others compute
};

/// Makes the store of a data set. Where there is a folder, it is opened; what is in it stays as it
/// is until the store is settled. The communicator must outlive the store. ConfigError, DataError.
/// Collective: every process calls it, in the same order.
using StoreMaker = std::unique_ptr<Store>(const StoreSpec& spec, comm::Communicator& communicator,
                                          std::shared_ptr<const data::PayloadSource> source);

StoreMaker open_replicated, open_partitioned;  // in the file of their store

struct StoreEntry : Entry<StoreMaker> {
  /// Every process can read every example, so that a run may as well load all into memory at once.
  bool holds_all = false;
};

inline constexpr StoreEntry kStores[] = {
    {{"replicated", "every process can read all examples; only owners change", open_replicated},
     true},
    {{"partitioned", "a process holds its workers' parts; examples travel", open_partitioned},
     false},
};
static_assert(names_are_unique(kStores));

}  // namespace impart::store
