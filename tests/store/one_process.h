#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "impart/store/partitioned_store.h"
#include "tests/store/store_checks.h"

namespace impart::testing {

inline constexpr store::FlowSpec kSmallPieces{
    .piece_bytes = 777, .batch_examples = 7, .sync_bytes = 4'000};

/// A store of one process, where its workers are all hosted together.
struct OneProcess {
  std::unique_ptr<store::Store> open(std::uint32_t workers, const std::string& path,
                                     const store::StoreObserver& observer = {}) {
    return store::make_partitioned_store({.workers = workers,
                                          .path = path,
                                          .data_id = "generated",
                                          .flow = kSmallPieces,
                                          .moves_behind = moves_behind,
                                          .observer = observer},
                                         *communicator, source);
  }
  bool moves_behind = false;
  std::unique_ptr<comm::Communicator> communicator = comm::make_single_communicator();
  std::shared_ptr<GeneratedSource> source = std::make_shared<GeneratedSource>(203, 300, true);
};

}  // namespace impart::testing
