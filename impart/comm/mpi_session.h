#pragma once

#include <string>

namespace impart::comm {

/// "MPI_Ibarrier failed: …", for a code that MPI has returned.
std::string describe_mpi_error(int code, const char* call);

/// MPI from its start to its end; leaves alone what somebody else has started.
class MpiSession {
 public:
  /// `short_queues` as in CommunicatorSpec. ConfigError if MPI has ended already, PeerError if it
  /// does not start.
  explicit MpiSession(bool short_queues);
  /// From here on Open MPI does not give its core away inside of calls, as it does where there are
  /// more processes than cores: who holds a lock then may hold it for seconds.
  void keep_core_in_calls();
  /// Collective: every process calls it, in the same order.
  void end();

 private:
  bool ours_ = false;
  bool yielded_ = false;  ///< before keep_core_in_calls
};

}  // namespace impart::comm
