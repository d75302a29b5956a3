#include "cli/stop.h"

#include <atomic>
#include <csignal>

namespace impart::cli {
namespace {

std::atomic<int> stop_signals = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not take a lock");

void count_stop(int) {
  ++stop_signals;
}

void count_stop_then_end(int signal) {
  ++stop_signals;
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void count_stop_signals(SecondInterrupt second) {
  handle(SIGINT, second == SecondInterrupt::kEndsAtOnce ? count_stop_then_end : count_stop);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGQUIT}) handle(signal, count_stop);
  if (!is_ignored(SIGHUP)) handle(SIGHUP, count_stop);
}

int stop_requests() {
  return stop_signals;
}

}  // namespace impart::cli
