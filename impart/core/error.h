#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace impart {

/// A text for a message: of what is longer than `most` bytes the middle is left out, and said so.
std::string shorten(std::string_view text, std::size_t most = 120);

/// What an exception of any library says, in one line: LibTorch's go on with hints and the stack,
/// of which only the place that raised it stays.
std::string one_line_of(const std::exception& error);

/// What every exception of the library derives from. The message is one line that says what was
/// found, where, and what would be right; whoever catches it decides whether to print or exit. What
/// a file holds may be part of it, so it is shortened if it is longer than any of our own.
class Error : public std::runtime_error {
 public:
  static constexpr std::size_t kLongest = 4000;

  explicit Error(const std::string& what) : std::runtime_error(shorten(what, kLongest)) {}
};

/// The caller asked for something that cannot be: a wrong name, number or combination.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// An input cannot be read or does not hold what it should. Names the file, and the line or offset.
class DataError : public Error {
 public:
  using Error::Error;
};

/// The operating system refused to write or sync. Names the path and the system's reason.
class IoError : public Error {
 public:
  using Error::Error;
};

/// Another process of the job failed or was lost, so this one cannot go on. Names its rank and, if
/// it still could give one, its reason. Starting the job again helps.
class PeerError : public Error {
 public:
  using Error::Error;
};

}  // namespace impart
