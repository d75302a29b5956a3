#include "impart/run/tensorboard.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <isa-l/crc.h>

#include "event.pb.h"
#include "impart/core/error.h"

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

/// What the beginning of a PNG file says.
struct PngHead {
  std::uint32_t width = 0, height = 0;
  int channels = 0;
};

PngHead read_png_head(std::string_view png) {
  constexpr std::size_t kHeadBytes = 26;  // signature, and IHDR up to the kind of colours
  if (png.size() < kHeadBytes || png.substr(1, 3) != "PNG") throw DataError("is no PNG file");
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<unsigned char>(png[at + i]);
    return value;
  };
  constexpr char kGrey = 0, kGreyAlpha = 4, kRgba = 6;
  const char colours = png[25];
  const int channels = colours == kGrey ? 1 : colours == kGreyAlpha ? 2 : colours == kRgba ? 4 : 3;
  return {number(16), number(20), channels};
}

events::Setting setting_of(const std::string& text) {
  events::Setting value;
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text == "true" || text == "false") {
    value.set_bool_value(text == "true");
  } else if (failure == std::errc() && end == text.data() + text.size()) {
    value.set_number_value(number);
  } else {
    value.set_string_value(text);
  }
  return value;
}

events::SettingInfo::Type type_of(const events::Setting& value) {
  if (value.has_bool_value()) return events::SettingInfo::BOOL;
  return value.has_number_value() ? events::SettingInfo::FLOAT64 : events::SettingInfo::STRING;
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

void EventWriter::image(const std::string& tag, std::int64_t step, std::string_view png) {
  const PngHead head = read_png_head(png);
  events::Event event = event_at(clock_(), step);
  events::Value& value = add_value(tag, descriptions_, event);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("images");
  events::Image& image = *value.mutable_image();
  image.set_height(static_cast<std::int32_t>(head.height));
  image.set_width(static_cast<std::int32_t>(head.width));
  image.set_colorspace(head.channels);
  image.set_encoded_image_string(std::string(png));
  write_record(event.SerializeAsString());
}

void EventWriter::settings(std::span<const RunSetting> settings,
                           std::span<const std::string> metrics) {
  events::Hparams experiment, start;
  for (const auto& [name, text] : settings) {
    const events::Setting value = setting_of(text);
    (*start.mutable_session_start_info()->mutable_hparams())[name] = value;
    events::SettingInfo& info = *experiment.mutable_experiment()->add_hparam_infos();
    info.set_name(name);
    info.set_type(type_of(value));
  }
  for (const std::string& tag : metrics) {
    experiment.mutable_experiment()->add_metric_infos()->mutable_name()->set_tag(tag);
  }
  start.mutable_session_start_info()->set_start_time_secs(clock_());
  write_hparams("_hparams_/experiment", experiment.SerializeAsString());
  write_hparams("_hparams_/session_start_info", start.SerializeAsString());
}

void EventWriter::write_hparams(const std::string& tag, const std::string& content) {
  events::Event event = event_at(clock_(), 0);
  events::PluginData& data =
      *add_value(tag, descriptions_, event).mutable_metadata()->mutable_plugin_data();
  data.set_plugin_name("hparams");
  data.set_content(content);
  write_record(event.SerializeAsString());
}

void EventWriter::write_record(std::string_view message) {
  const std::string length = bytes_of(std::uint64_t{message.size()});
  std::string record = length + bytes_of(masked_crc(length));
  record += message;
  record += bytes_of(masked_crc(message));
  file_.append(record);
}

}  // namespace impart::run
