#pragma once

#include <exception>
#include <functional>
#include <utility>

#include "impart/comm/communicator.h"

namespace impart::comm {

/// Runs `body`, the work of this process in a job. If it throws, the other processes learn the
/// reason before the exception goes on to the caller, and end with PeerError.
///
/// How a job ends when one of its processes does not get to the end:
///
///     one process …                 the others                   mpirun (Open MPI 4.1) returns
///     throws inside run_job         PeerError, rank and reason   75, as PeerError exits
///     throws what all throw         the same error               the code of that error
///     is killed (kill -9, OOM)      PeerError, rank              128 + signal: 137
///     calls exit(c), c != 0         PeerError, rank              c
///     is stopped or cut off         PeerError, rank and place    75, after the timeout
///
/// A process learns of it inside a collective and throws 0.2 s later. Whatever a process does,
/// mpirun ends it: SIGTERM follows a second after the first process has died, SIGKILL another
/// second later, and both at once when more processes end meanwhile; so with many processes not all
/// get to say why. srun does the like only with --kill-on-bad-exit=1.
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

/// Runs `body` on process 0, and returns on no process before it is over. If it throws, all
/// processes throw an error of that kind and message, so that the job ends with its exit code:
/// nobody is lost. Collective: every process calls it, in the same order.
void run_on_first(Communicator& communicator, const std::function<void()>& body);

}  // namespace impart::comm
