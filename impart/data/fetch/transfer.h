#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "impart/core/progress.h"
#include "impart/data/fetch/part.h"

namespace impart::data {

struct TransferSpec {
  std::string url;          ///< https, http or file
  std::uint64_t bytes = 0;  ///< size that the file must have; 0 = any
  std::chrono::seconds stall{30};
  std::uint64_t least_rate = 0;   ///< bytes per second, over `stall`; fewer are a failure
  std::string certificates = {};  ///< PEM file of authorities to trust; empty = the system's
  Progress progress = {};
  std::function<bool()> stop_requested = {};
};

/// An attempt failed in a way that another may not.
struct TransientFailure {
  std::string reason;                     ///< names the URL
  bool reached = true;                    ///< whether there was a server at all
  bool slow = false;                      ///< less came than least_rate asks for
  std::chrono::seconds wait_at_least{0};  ///< what the server asked for
};

/// One attempt to complete a part, from where it ends. Redirects are followed, but never from https
/// to anything else. The part begins anew if the server cannot go on in the middle, or has another
/// version of the file by now. Nothing returned means that the server has sent all there is.
///
/// Failures for good are thrown: DataError (no such file, wrong size), ConfigError (no such URL),
/// IoError (the part cannot be written, the server cannot be trusted), FetchStopped.
std::optional<TransientFailure> transfer(const TransferSpec& spec, PartFile& part);

}  // namespace impart::data
