#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace impart::study {

/// What a process is started with.
struct ChildSpec {
  std::vector<std::string> command;           ///< the program's path first
  std::string log;                            ///< its stdout and stderr are appended to this file
  std::vector<std::string> environment = {};  ///< "NAME=value": set, unless the caller's has it
};

/// How a process ended: by itself with a code, or by a signal.
struct ChildEnd {
  int code = 0;
  int signal = 0;  ///< 0 if it ended by itself
};

/// A process of its own group, so that a terminal's Ctrl-C does not reach it. It is told to end
/// (SIGTERM) when the thread that started it dies, in whatever way. Descriptors that are not
/// close-on-exec stay open in it.
class ChildProcess {
 public:
  /// IoError if the log cannot be written or the program cannot be started.
  explicit ChildProcess(const ChildSpec& spec);
  /// Kills it if it still runs, and waits for it.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// How it ended; empty while it runs. Does not wait.
  std::optional<ChildEnd> poll();

  /// Sends a signal to its whole group; nothing if it has ended.
  void signal(int number);

 private:
  pid_t pid_ = -1;
  std::optional<ChildEnd> end_;
};

}  // namespace impart::study
