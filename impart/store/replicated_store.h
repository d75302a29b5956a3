#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "impart/comm/communicator.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/store/store.h"

namespace impart::store {

struct ReplicatedStoreSpec {
  std::uint32_t workers = 1;
  /// Payload bytes that each process keeps of what it has read from disk; 0: none.
  std::uint64_t cache_bytes = 0;
  /// A local folder that keeps them, too, for the next run as well; empty: none. DiskCache.
  std::string disk_path = {};
  std::uint64_t disk_bytes = 0;
  std::string data_id = {};
};

/// A store in which every process reads everything from the data set, as vanilla training does, so
/// nothing ever moves. Payloads that came from disk are kept in a cache of bounded size; the one
/// that was not used for longest goes first, roughly (CLOCK). A read costs the worker the bytes
/// from disk and counts as a hit or a miss; payloads that the source has in memory count as neither
/// and are not kept again.
std::unique_ptr<Store> make_replicated_store(const ReplicatedStoreSpec& spec,
                                             comm::Communicator& communicator,
                                             std::shared_ptr<const data::PayloadSource> source);

}  // namespace impart::store
