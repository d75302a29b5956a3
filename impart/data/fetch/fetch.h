#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "impart/core/error.h"
#include "impart/core/progress.h"
#include "impart/data/fetch/table.h"

namespace impart::data {

/// Thrown when FetchHooks::stop_requested says so. What was downloaded stays, and the same fetch
/// goes on from there.
class FetchStopped : public Error {
 public:
  using Error::Error;
};

/// How a fetch talks to its caller; each may be empty.
struct FetchHooks {
  /// Told what begins ("fetching train.gz"); what it returns is told the bytes done and in all
  /// (0 if nobody knows).
  std::function<Progress(const std::string& what)> phase = {};
  /// Asked several times a second; true ends the fetch with FetchStopped.
  std::function<bool()> stop_requested = {};
};

struct FetchSpec {
  std::string dest;  ///< the folder to fill; made where there is none
  /// URL of the folder to fetch the files from (https, http or file); empty = the official one.
  std::string from = {};
  /// A file as sha256sum writes it, whose sums count instead of the published ones: for mirrors
  /// that have packed an archive anew. Empty = the published sums.
  std::string sums = {};
  bool keep_archive = false;        ///< leave archives in `dest`, beside what was unpacked
  bool overwrite = false;           ///< replace files that are there and were not fetched
  int retries = 5;                  ///< attempts in a row that may bring nothing new
  std::chrono::seconds stall{30};   ///< a transfer that brings nothing for so long has failed
  std::uint64_t least_rate = 1000;  ///< as has one that brings fewer bytes per second for so long
  std::string certificates = {};    ///< PEM file of authorities to trust; empty = the system's
};

struct FetchOutcome {
  bool was_complete = false;     ///< everything was there already, with the right contents
  std::uint64_t downloaded = 0;  ///< bytes received
  std::vector<std::string> files;
};

/// Downloads a data set, checks its sums, and leaves exactly the files that its loader expects in
/// `spec.dest`: each appears complete or not at all. A hidden stamp there records their sums, so
/// that a second fetch reads them (0.5 s for CIFAR) and finds nothing to do. What is half
/// downloaded, as DEST/.NAME.part, survives every failure and is gone on with.
///
/// ConfigError: a bad URL, or files in the way that were not fetched. DataError: a missing file on
/// the server, wrong sums (the download is deleted), a damaged or suspicious archive. IoError: the
/// network, a full disk, an unwritable folder, another fetch into the same folder.
FetchOutcome fetch_data(const Fetchable& set, const FetchSpec& spec, const FetchHooks& hooks = {});

}  // namespace impart::data
