#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace impart::study {

/// Closes a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  void close();

 private:
  int number_;
};

/// What a process is started with.
struct ChildSpec {
  std::vector<std::string> command;  ///< the program's path first
  std::string log;                   ///< its stdout and stderr are appended to this file
  bool has_pipes = false;  ///< its stdin and stdout are pipes instead: see write() and read()
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

  /// Where it has pipes: hands it a text. Nothing if it no longer reads; poll() will tell.
  void write(std::string_view text);
  /// Where it has pipes: what it has printed since the last call. Does not wait.
  std::string read();
  /// Where it has pipes: it has been told everything.
  void close_input() { input_.close(); }

 private:
  pid_t pid_ = -1;
  Descriptor input_, output_;  ///< our ends of the pipes
  std::optional<ChildEnd> end_;
};

}  // namespace impart::study
