#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

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
  std::uint64_t cache_hits = 0, cache_misses = 0;  ///< in memory; of reads that went to the source
  std::uint64_t cache_hits_disk = 0;               ///< on the local disk
  std::uint64_t cache_hits_peers = 0;              ///< in the caches of other processes
  std::uint64_t bytes_peers = 0;                   ///< received from these
};

/// Where the time of one process went, in seconds. At every moment it is in one phase, so that they
/// add up to the time on the clock. Of steps on a GPU it is the GPU's time, not the host's that
/// starts them.
struct PhaseSeconds {
  double step =
      0;  ///< a whole step where it is recorded as one; elsewhere what the next four leave
  double forward = 0, backward = 0;
  double weight_exchange = 0;  ///< waiting for the sum of gradients
  double weight_update = 0;
  double data_wait = 0;        ///< waiting for decoded examples, and putting them together
  double exchange = 0;         ///< carrying out moves, as far as training had to wait for it
  double importance_pass = 0;  ///< forward passes for the importance that an exchange looks at
  double refresh = 0;          ///< forward passes over what a selection hid
  double dissimilarity = 0;    ///< passes that measure how much the workers' gradients differ
  double partition = 0;        ///< deciding who owns what, and who visits what
  double tracking = 0;         ///< collecting signals
  double evaluation = 0, checkpoint = 0;
  double other = 0;  ///< in no other phase: getting ready, writing records

  PhaseSeconds& operator+=(const PhaseSeconds& more);
  double total() const;
  double training() const {  ///< of the phases that steps are made of
    return step + forward + backward + weight_exchange + weight_update + data_wait;
  }
};

/// One of PhaseSeconds.
struct Phase {
  std::string_view name;  ///< in files
  double PhaseSeconds::*seconds;
};

/// All phases, in the order of files and reports.
inline constexpr Phase kPhases[] = {
    {"step", &PhaseSeconds::step},
    {"forward", &PhaseSeconds::forward},
    {"backward", &PhaseSeconds::backward},
    {"weight_exchange", &PhaseSeconds::weight_exchange},
    {"weight_update", &PhaseSeconds::weight_update},
    {"data_wait", &PhaseSeconds::data_wait},
    {"exchange", &PhaseSeconds::exchange},
    {"importance_pass", &PhaseSeconds::importance_pass},
    {"refresh", &PhaseSeconds::refresh},
    {"dissimilarity", &PhaseSeconds::dissimilarity},
    {"partition", &PhaseSeconds::partition},
    {"tracking", &PhaseSeconds::tracking},
    {"evaluation", &PhaseSeconds::evaluation},
    {"checkpoint", &PhaseSeconds::checkpoint},
    {"other", &PhaseSeconds::other},
};
static_assert(sizeof(PhaseSeconds) == std::size(kPhases) * sizeof(double));

inline PhaseSeconds& PhaseSeconds::operator+=(const PhaseSeconds& more) {
  for (const Phase& phase : kPhases) this->*phase.seconds += more.*phase.seconds;
  return *this;
}

inline double PhaseSeconds::total() const {
  double sum = 0;
  for (const Phase& phase : kPhases) sum += this->*phase.seconds;
  return sum;
}

}  // namespace impart::store
