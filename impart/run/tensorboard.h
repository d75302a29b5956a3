#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "impart/run/append_file.h"

namespace impart::run {

/// Seconds since 1970.
using WallClock = std::function<double()>;
double system_seconds();

struct EventWriterSpec {
  std::string folder;  ///< must exist
  /// For a resumed run: TensorBoard then forgets what earlier files in the folder say about this
  /// and later steps.
  std::int64_t first_step = 0;
  WallClock clock = system_seconds;
};

/// A setting of a run: its name, and what it is set to as text. Texts of numbers, `true` and
/// `false` are shown as such.
using RunSetting = std::pair<std::string, std::string>;

/// Writes what TensorBoard shows: one new file events.out.tfevents.* in the folder, a sequence of
/// records (length, checksum, protobuf message, checksum). Every call reaches the operating system
/// before it returns; IoError if it cannot.
///
/// Tags group by their part before a slash: "train/loss". Steps are whatever the x axis is to be.
class EventWriter {
 public:
  explicit EventWriter(const EventWriterSpec& spec);

  const std::string& path() const { return file_.path(); }

  /// What TensorBoard says about a tag; call it before the tag's first value.
  void describe(const std::string& tag, std::string_view text);

  /// One point of a curve, kept in single precision.
  void scalar(const std::string& tag, std::int64_t step, double value);

  /// How values are distributed, in buckets that grow by 10 % each. NaN and infinite values are
  /// left out; without any others nothing is written. About 0.1 µs per value.
  void histogram(const std::string& tag, std::int64_t step, std::span<const float> values);

  /// A picture: the bytes of a PNG file. DataError if they are not.
  void image(const std::string& tag, std::int64_t step, std::string_view png);

  /// What the run is called by on the page HPARAMS, and the tags that it is judged by there.
  void settings(std::span<const RunSetting> settings, std::span<const std::string> metrics);

 private:
  void write_record(std::string_view message);
  void write_hparams(const std::string& tag, const std::string& content);

  WallClock clock_;
  AppendFile file_;
  std::map<std::string, std::string> descriptions_;
};

}  // namespace impart::run
