#include "cli/output.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart::cli {
namespace {

int output_error = 0;  ///< why a part of the answer is lost

void note_error(bool failed) {
  if (failed && output_error == 0) output_error = errno;
}

/// Opened the wrong way round, so that a write to it fails as it would have.
void occupy(int descriptor, int flags) {
  if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", flags);  // takes the lowest free number
}

}  // namespace

void prepare_output() {
  occupy(STDIN_FILENO, O_WRONLY);
  occupy(STDOUT_FILENO, O_RDONLY);
  occupy(STDERR_FILENO, O_RDONLY);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void answer_text(std::string_view text) {
  note_error(std::fwrite(text.data(), 1, text.size(), stdout) != text.size());
}

void say_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void flush_answer() {
  note_error(std::fflush(stdout) != 0);
}

void allow_lost_output() {
  std::fflush(stdout);
  output_error = 0;
}

void finish_output() {
  note_error(std::fflush(stdout) != 0);
  if (output_error == 0) return;
  if (output_error == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  throw IoError(fmt::format("stdout: cannot write the answer: {}", std::strerror(output_error)));
}

}  // namespace impart::cli
