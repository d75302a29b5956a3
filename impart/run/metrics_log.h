#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "impart/run/append_file.h"

namespace impart::run {

/// The record of a run: one JSON object per line and epoch, each with its number as "epoch", and a
/// checksum of its line as its last member "crc32". Used for metrics.jsonl, the source of truth of
/// a run, and ledger.jsonl.
///
/// Only one process of a run writes it.
class MetricsLog {
 public:
  /// Opens or creates the file. What it holds of epochs before `next_epoch` stays; everything from
  /// the first later record on is cut off, as is a last line that was not written to its end. So a
  /// resumed run leaves the same file as one that was never interrupted. DataError names the line
  /// that is no record; IoError.
  MetricsLog(std::string path, std::uint32_t next_epoch);

  /// Adds one line and syncs it to the disk (milliseconds). NaN and infinite numbers become null.
  /// ConfigError if "epoch" is missing or not above that of the last line.
  void append(const nlohmann::ordered_json& record);

 private:
  AppendFile file_;
  std::uint32_t next_epoch_ = 0;
};

/// Calls visit(record, line) for every record of such a file and its line, counted from 1, in their
/// order, without a torn last line; records have no "crc32" then. Keeps one in memory at a time.
/// DataError names the line that is no record, was damaged (lines of older versions have no
/// checksum), or does not come after the epoch before it.
void visit_records(
    const std::string& path,
    const std::function<void(const nlohmann::ordered_json& record, std::size_t line)>& visit);

}  // namespace impart::run
