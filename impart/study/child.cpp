#include "impart/study/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impart/core/error.h"

extern char** environ;  // NOLINT: POSIX has it no other way

namespace impart::study {
namespace {

struct Pipe {
  Descriptor reading, writing;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw IoError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& additions) {
  std::vector<std::string> merged;
  for (char** variable = environ; *variable != nullptr; ++variable) merged.emplace_back(*variable);
  for (const std::string& addition : additions) {
    const std::string name = addition.substr(0, addition.find('='));
    if (std::getenv(name.c_str()) == nullptr) merged.push_back(addition);
  }
  return merged;
}

/// What the child needs between fork and exec, where nothing may be allocated.
struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int input, output, log, error_pipe;
  pid_t parent;
};

[[noreturn]] void become(const Launch& launch) {
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_DFL);  // a handler of the parent would swallow the parent's death
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != launch.parent) ::_exit(EXIT_FAILURE);
  ::dup2(launch.input, STDIN_FILENO);
  ::dup2(launch.output, STDOUT_FILENO);
  ::dup2(launch.log, STDERR_FILENO);
  ::execve(launch.program, launch.arguments, launch.environment);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(launch.error_pipe, &error, sizeof(error));
  ::_exit(EXIT_FAILURE);
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

ChildProcess::ChildProcess(const ChildSpec& spec) {
  const Descriptor log(::open(spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.get() < 0) {
    throw IoError(fmt::format("{}: cannot open: {}", spec.log, std::strerror(errno)));
  }
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe error_pipe = make_pipe(), to_child, from_child;
  if (spec.has_pipes) {
    to_child = make_pipe();
    from_child = make_pipe();
  }
  std::vector<std::string> arguments = spec.command;
  std::vector<std::string> variables = merged_environment(spec.environment);
  const auto argument_pointers = pointers(arguments);
  const auto variable_pointers = pointers(variables);
  const Launch launch{.program = arguments.front().c_str(),
                      .arguments = argument_pointers.data(),
                      .environment = variable_pointers.data(),
                      .input = spec.has_pipes ? to_child.reading.get() : nothing.get(),
                      .output = spec.has_pipes ? from_child.writing.get() : log.get(),
                      .log = log.get(),
                      .error_pipe = error_pipe.writing.get(),
                      .parent = ::getpid()};
  pid_ = ::fork();
  if (pid_ == 0) become(launch);
  if (pid_ < 0) throw IoError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  error_pipe.writing.close();
  int error = 0;
  ssize_t length = 0;
  do {
    length = ::read(error_pipe.reading.get(), &error, sizeof(error));
  } while (length < 0 && errno == EINTR);
  if (length == sizeof(error)) {
    ::waitpid(pid_, nullptr, 0);
    throw IoError(
        fmt::format("{}: cannot be started: {}", spec.command.front(), std::strerror(error)));
  }
  input_ = std::move(to_child.writing);
  output_ = std::move(from_child.reading);
  if (spec.has_pipes) ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      end_(other.end_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || end_) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<ChildEnd> ChildProcess::poll() {
  int status = 0;
  if (end_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return end_;
  end_ = WIFSIGNALED(status) ? ChildEnd{.code = 0, .signal = WTERMSIG(status)}
                             : ChildEnd{.code = WEXITSTATUS(status), .signal = 0};
  return end_;
}

void ChildProcess::signal(int number) {
  if (!end_) ::kill(-pid_, number);
}

void ChildProcess::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(input_.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

std::string ChildProcess::read() {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t length = ::read(output_.get(), piece.data(), piece.size());
    if (length > 0) {
      text.append(piece.data(), static_cast<std::size_t>(length));
    } else if (length == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace impart::study
