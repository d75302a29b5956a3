#pragma once

#include <cstddef>
#include <memory>

#include "impart/comm/communicator.h"

struct CUstream_st;

namespace impart::comm {

/// Sums over the processes of a job of arrays in the memory of their GPUs, which need not pass
/// through the host: NCCL.
class DeviceSum {
 public:
  virtual ~DeviceSum() = default;
  DeviceSum(const DeviceSum&) = delete;
  DeviceSum& operator=(const DeviceSum&) = delete;

  /// Replaces every element of an array on this process's GPU by its sum over the processes, after
  /// what is on the stream already. Starts and returns; may be recorded in a graph, and then
  /// counts as traffic only by note_sum.
  /// Collective: every process calls it, in the same order.
  virtual void sum(float* values, std::size_t count, CUstream_st* stream) = 0;

  /// Counts a sum that runs, as an all-reduce, in the traffic of the communicator.
  virtual void note_sum(std::size_t count) = 0;

  /// Returns when all that is on the stream is done; PeerError if it never will be, since another
  /// process is lost.
  virtual void wait(CUstream_st* stream) = 0;

 protected:
  DeviceSum() = default;
};

enum class DeviceSumUse {
  kWherePossible,  ///< null if there is one process, or some share a GPU, or this build has no NCCL
  kAlways,         ///< ConfigError instead
};

/// Sums on the current device. The communicator must outlive it.
/// Collective: every process calls it, in the same order.
std::unique_ptr<DeviceSum> make_device_sum(Communicator& communicator, DeviceSumUse use);

}  // namespace impart::comm
