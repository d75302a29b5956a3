#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "impart/comm/communicator.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/store/cache/policies.h"
#include "impart/store/store.h"

namespace impart::store {

struct CachedStoreSpec {
  std::uint32_t workers = 1;
  std::uint64_t memory_bytes = 0;  ///< of payloads, in each process
  std::string disk_path = {};      ///< a local folder; empty: nothing is kept on disk
  std::uint64_t disk_bytes = 0;
  std::string data_id = {};
  const CachePolicyEntry* policy = nullptr;  ///< a planned one
  bool cooperative = false;
  MoveFrom move_from = MoveFrom::kAuto;
  std::uint32_t steps_ahead = 4;  ///< that other processes' bytes may come before they are needed
};

/// A replicated store whose caches are planned: before an epoch every process decides what it will
/// keep of what it reads (CachePlan), and knows the same of the others. With `cooperative`, and for
/// examples that change their owner with `move_from`, payloads come from the process that keeps
/// them (PeerExchange), all others from the source. On disk and in memory together a process keeps
/// at most so many bytes, and while an epoch's moves are under way what it is about to give away.
///
/// Reads outside of an epoch's steps find what is kept here, or go to the source.
///
/// Collective: every process calls it, in the same order.
std::unique_ptr<Store> make_cached_store(const CachedStoreSpec& spec,
                                         comm::Communicator& communicator,
                                         std::shared_ptr<const data::PayloadSource> source);

}  // namespace impart::store
