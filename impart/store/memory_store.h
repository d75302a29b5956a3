#pragma once

#include <cstdint>
#include <memory>

#include "impart/comm/communicator.h"
#include "impart/store/store.h"

namespace impart::store {

struct MemoryStoreSpec {
  std::uint32_t workers = 1;
  std::uint64_t examples = 0;  ///< of the data set
  /// That each process took from files to fill its memory; what its first worker pays for.
  std::uint64_t loaded_bytes = 0;
};

/// A store of examples that every process has in memory, all of them, in the form that it trains
/// with: nothing ever moves, and nothing is left to be read (read is an Error).
std::unique_ptr<Store> make_memory_store(const MemoryStoreSpec& spec,
                                         comm::Communicator& communicator);

}  // namespace impart::store
