#pragma once

#include <stdexcept>

namespace impart {

/// What every exception of the library derives from. The message is one line that says what was
/// found, where, and what would be right; whoever catches it decides whether to print or exit.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
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
