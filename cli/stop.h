// Signals that ask a command to stop: it ends what it is at, leaves everything in order, and ends.
#pragma once

namespace impart::cli {

enum class SecondInterrupt {
  kEndsAtOnce,  ///< for commands that may take long to stop
  kCounts,      ///< for commands that ask how often they were told
};

/// SIGINT and SIGTERM; SIGHUP, unless it is ignored (nohup); SIGUSR1, SIGUSR2 and SIGXCPU, which
/// batch systems send before the time is up; SIGQUIT.
void count_stop_signals(SecondInterrupt second = SecondInterrupt::kEndsAtOnce);

/// How many have come.
int stop_requests();

inline bool stop_requested() {
  return stop_requests() > 0;
}

}  // namespace impart::cli
