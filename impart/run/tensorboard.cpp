#include "impart/run/tensorboard.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <isa-l/crc.h>

#include "event.pb.h"

namespace impart::run {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths are written in native order");

/// A checksum of data that holds checksums is weak, so TFRecord stores them rotated and shifted.
std::uint32_t masked_crc(std::string_view bytes) {
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const std::uint32_t crc = ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0u);
  return std::rotr(crc, 15) + 0xa282ead8u;
}

template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// TensorBoard's: ±1e-12, growing by 10 % up to 1e20, and 0; the last has no end.
std::vector<double> make_bucket_limits() {
  constexpr double kMost = std::numeric_limits<double>::max();
  std::vector<double> positive = {1e-12};
  while (positive.back() * 1.1 < 1e20) positive.push_back(positive.back() * 1.1);
  std::vector<double> limits(positive.rbegin(), positive.rend());
  for (double& limit : limits) limit = -limit;
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  limits.push_back(kMost);
  return limits;
}

/// How many values are below each limit and not below the one before.
std::vector<std::uint64_t> count_into_buckets(std::span<const float> values,
                                              std::span<const double> limits) {
  std::vector<std::uint64_t> counts(limits.size());
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto above = std::upper_bound(limits.begin(), limits.end(), value);
    ++counts[static_cast<std::size_t>(above - limits.begin())];
  }
  return counts;
}

void add_moments(std::span<const float> values, events::Histogram& histogram) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least, count = 0, sum = 0, sum_squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    count += 1;
    sum += value;
    sum_squares += value * value;
  }
  histogram.set_min(least);
  histogram.set_max(most);
  histogram.set_num(count);
  histogram.set_sum(sum);
  histogram.set_sum_squares(sum_squares);
}

/// Empty buckets at both ends are left out, and a run of them in between becomes one.
void add_buckets(std::span<const double> limits, std::span<const std::uint64_t> counts,
                 events::Histogram& histogram) {
  std::uint64_t left = 0;
  for (const std::uint64_t count : counts) left += count;
  for (std::size_t i = 0; i < counts.size() && left > 0; ++i) {
    const bool started = histogram.bucket_size() > 0;
    const bool run_goes_on = counts[i] == 0 && counts[i + 1] == 0;
    if (counts[i] == 0 && (!started || run_goes_on)) continue;
    histogram.add_bucket_limit(limits[i]);
    histogram.add_bucket(static_cast<double>(counts[i]));
    left -= counts[i];
  }
}

events::Event event_at(double wall_time, std::int64_t step) {
  events::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  return event;
}

/// The value of a new event, for the caller to fill in.
events::Value& add_value(const std::string& tag,
                         const std::map<std::string, std::string>& descriptions,
                         events::Event& event) {
  events::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  const auto described = descriptions.find(tag);
  if (described != descriptions.end()) {
    value.mutable_metadata()->set_summary_description(described->second);
  }
  return value;
}

/// TensorBoard reads the files of a folder in the order of their names: the time comes first, then
/// a number for runs that start twice in a second.
AppendFile create_event_file(const std::string& folder, double now) {
  for (int number = 0;; ++number) {
    const std::string path = fmt::format("{}/events.out.tfevents.{:010}.{:04}", folder,
                                         static_cast<std::int64_t>(now), number);
    if (!std::filesystem::exists(path)) return AppendFile(path, AppendFile::Mode::kMustBeNew);
  }
}

}  // namespace

double system_seconds() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_1970).count();
}

EventWriter::EventWriter(const EventWriterSpec& spec)
    : clock_(spec.clock), file_(create_event_file(spec.folder, spec.clock())) {
  events::Event version;
  version.set_wall_time(clock_());
  version.set_file_version("brain.Event:2");
  write_record(version.SerializeAsString());
  events::Event start = event_at(clock_(), spec.first_step);
  start.mutable_session_log()->set_status(events::SessionLog::START);
  write_record(start.SerializeAsString());
}

void EventWriter::describe(const std::string& tag, std::string_view text) {
  descriptions_[tag] = text;
}

void EventWriter::scalar(const std::string& tag, std::int64_t step, double value) {
  events::Event event = event_at(clock_(), step);
  add_value(tag, descriptions_, event).set_simple_value(static_cast<float>(value));
  write_record(event.SerializeAsString());
}

void EventWriter::histogram(const std::string& tag, std::int64_t step,
                            std::span<const float> values) {
  static const std::vector<double> kLimits = make_bucket_limits();
  events::Event event = event_at(clock_(), step);
  events::Histogram& histogram = *add_value(tag, descriptions_, event).mutable_histo();
  add_moments(values, histogram);
  add_buckets(kLimits, count_into_buckets(values, kLimits), histogram);
  if (histogram.bucket_size() > 0) write_record(event.SerializeAsString());
}

void EventWriter::write_record(std::string_view message) {
  const std::string length = bytes_of(std::uint64_t{message.size()});
  std::string record = length + bytes_of(masked_crc(length));
  record += message;
  record += bytes_of(masked_crc(message));
  file_.append(record);
}

}  // namespace impart::run
