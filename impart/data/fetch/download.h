#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "impart/data/fetch/fetch.h"

namespace impart::data {

struct DownloadSpec {
  std::string url;
  std::string part;         ///< path of the part file: made, or gone on with
  std::uint64_t bytes = 0;  ///< size that the file must have; 0 = any
  int retries = 5;          ///< attempts in a row that may bring nothing new, or too little
  std::chrono::seconds stall{30};
  std::uint64_t least_rate = 0;
  std::string certificates = {};
};

/// Attempts to complete a part until it is, and returns how many bytes were received. After a
/// failure that may pass it waits and goes on where the part ends. A server that never answered is
/// not asked again. Throws as transfer() does, and IoError when it gives up; the part stays.
std::uint64_t download(const DownloadSpec& spec, const FetchHooks& hooks);

/// How long to wait after so many (≥ 1) attempts in a row without a new byte: half a second, then
/// twice as long each time up to 30 s; at least what the server asked for, up to two minutes.
std::chrono::milliseconds back_off(int attempts, std::chrono::seconds asked_for);

}  // namespace impart::data
