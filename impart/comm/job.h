#pragma once

#include <exception>
#include <utility>

#include "impart/comm/communicator.h"

namespace impart {

/// Runs `body`, the work of this process in a job. If it throws, the other processes learn the
/// reason before the exception goes on to the caller, and end with PeerError.
///
/// How a job ends when one of its processes does not get to the end:
///
///     one process …                 the others                       mpirun (Open MPI 4.1) returns
///     throws inside run_job         PeerError with rank and reason   75 (what PeerError exits
///     with) throws, all the same error    the same error                   the code of that error
///     is killed (kill -9, OOM)      PeerError with rank              128 + signal: 137
///     calls exit(c), c != 0         PeerError with rank              c
///
/// A process learns of it inside a collective, at once from processes of the same machine and from
/// those that could speak, and throws 0.2 s later. Whatever it does, mpirun sends it SIGTERM when
/// another process has died, and SIGKILL a second later, so nothing is left over. A program that
/// takes SIGTERM as a request, not as its end, has that second to report the PeerError. srun does
/// the same only with --kill-on-bad-exit=1.
template <class Body>
decltype(auto) run_job(Communicator& communicator, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& error) {
    communicator.announce_failure(error.what());
    throw;
  } catch (...) {
    communicator.announce_failure("an exception without a message");
    throw;
  }
}

}  // namespace impart
