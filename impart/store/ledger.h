#pragma once

#include <cstdint>

namespace impart::store {

/// What the storage of one worker cost over some time, usually an epoch. Bytes are payload bytes
/// plus what the store adds to them.
struct StorageCost {
  std::uint64_t bytes_source = 0;                    ///< read from the data set's own files
  std::uint64_t bytes_local = 0;                     ///< read from the worker's local directory
  std::uint64_t bytes_written = 0;                   ///< written to the worker's local directory
  std::uint64_t bytes_sent = 0, bytes_received = 0;  ///< between workers, for examples
  std::uint64_t flows_sent = 0, flows_received = 0;  ///< distinct partners sent to, received from
  std::uint64_t sends = 0, receives = 0;  ///< of pieces of flows, and of acknowledgements
  std::uint64_t examples_sent = 0, examples_received = 0;
  std::uint64_t peak_stored = 0;  ///< most examples held at one moment; 0 in a replicated store
  std::uint64_t cache_hits = 0, cache_misses = 0;
};

/// Where the time of one process went, in seconds.
struct PhaseSeconds {
  double forward = 0, backward = 0;
  double weight_exchange = 0;  ///< waiting for the sum of gradients
  double weight_update = 0;
  double data_wait = 0;        ///< waiting for decoded examples
  double exchange = 0;         ///< carrying out moves, as far as training had to wait for it
  double importance_pass = 0;  ///< forward passes for the importance that an exchange looks at
  double refresh = 0;          ///< forward passes over what a selection hid
  double partition = 0;        ///< deciding who owns what, and who visits what
  double tracking = 0;         ///< collecting signals
  double evaluation = 0, checkpoint = 0;

  PhaseSeconds& operator+=(const PhaseSeconds& other) {
    forward += other.forward;
    backward += other.backward;
    weight_exchange += other.weight_exchange;
    weight_update += other.weight_update;
    data_wait += other.data_wait;
    exchange += other.exchange;
    importance_pass += other.importance_pass;
    refresh += other.refresh;
    partition += other.partition;
    tracking += other.tracking;
    evaluation += other.evaluation;
    checkpoint += other.checkpoint;
    return *this;
  }
};

}  // namespace impart::store
