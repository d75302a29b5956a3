#include "impart/comm/job.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "impart/core/error.h"

namespace impart::comm {
namespace {

enum class Outcome : unsigned char { kFine, kConfigError, kDataError, kIoError, kOtherError };

Outcome outcome_of(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return Outcome::kConfigError;
  if (dynamic_cast<const DataError*>(&error) != nullptr) return Outcome::kDataError;
  if (dynamic_cast<const IoError*>(&error) != nullptr) return Outcome::kIoError;
  return Outcome::kOtherError;
}

[[noreturn]] void throw_again(Outcome outcome, const std::string& message) {
  switch (outcome) {
    case Outcome::kConfigError:
      throw ConfigError(message);
    case Outcome::kDataError:
      throw DataError(message);
    case Outcome::kIoError:
      throw IoError(message);
    case Outcome::kFine:
    case Outcome::kOtherError:
      break;
  }
  throw Error(message);
}

using Message = std::array<char, Error::kLongest + 1>;

void broadcast_failure(Communicator& communicator, Outcome outcome, std::string_view reason) {
  Message message = {};
  reason.copy(message.data(), message.size() - 1);
  communicator.broadcast(std::as_writable_bytes(std::span(&outcome, 1)), 0);
  communicator.broadcast(std::as_writable_bytes(std::span(message)), 0);
}

/// What the first process came to.
void hear_outcome(Communicator& communicator) {
  Outcome outcome = Outcome::kFine;
  communicator.broadcast(std::as_writable_bytes(std::span(&outcome, 1)), 0);
  if (outcome == Outcome::kFine) return;
  Message message = {};
  communicator.broadcast(std::as_writable_bytes(std::span(message)), 0);
  throw_again(outcome, message.data());
}

}  // namespace

void run_on_first(Communicator& communicator, const std::function<void()>& body) {
  if (communicator.rank() != 0) return hear_outcome(communicator);
  try {
    body();
  } catch (const std::exception& error) {
    broadcast_failure(communicator, outcome_of(error), error.what());
    throw;
  }
  Outcome fine = Outcome::kFine;
  communicator.broadcast(std::as_writable_bytes(std::span(&fine, 1)), 0);
}

}  // namespace impart::comm
