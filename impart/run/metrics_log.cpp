#include "impart/run/metrics_log.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <isa-l/crc.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSumStart = ",\"crc32\":\"";
constexpr std::size_t kSumDigits = 8;
constexpr std::string_view kSumEnd = "\"}";
constexpr std::size_t kSumBytes = kSumStart.size() + kSumDigits + kSumEnd.size();

/// Of the line up to its last member, as zlib's crc32.
std::string sum_of(std::string_view start) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(start.data());
  return fmt::format("{:08x}", crc32_gzip_refl(0, bytes, start.size()));
}

/// An object's text with the checksum as its last member.
std::string with_sum(std::string text) {
  text.pop_back();  // the closing brace
  return fmt::format("{}{}{}{}", text, kSumStart, sum_of(text), kSumEnd);
}

enum class Sum { kNone, kRight, kWrong };

/// A line has a checksum if it ends with anything like one: of damage that hits the member's name
/// its value still tells, and the other way round.
Sum check_sum(std::string_view line) {
  if (line.size() < kSumBytes) return Sum::kNone;
  const std::string_view start = line.substr(0, line.size() - kSumBytes);
  const std::string_view name = line.substr(start.size(), kSumStart.size());
  const std::string_view digits = line.substr(start.size() + name.size(), kSumDigits);
  const bool is_hex = std::all_of(digits.begin(), digits.end(),
                                  [](unsigned char letter) { return std::isxdigit(letter) != 0; });
  if (name != kSumStart && !(is_hex && line.ends_with(kSumEnd))) return Sum::kNone;
  const bool is_right = line.ends_with(kSumEnd) && name == kSumStart && digits == sum_of(start);
  return is_right ? Sum::kRight : Sum::kWrong;
}

std::optional<std::uint32_t> epoch_of(const Json& record) {
  if (!record.is_object()) return std::nullopt;
  const auto found = record.find("epoch");
  if (found == record.end() || !found->is_number_integer()) return std::nullopt;
  const auto epoch = found->get<std::int64_t>();
  if (epoch < 0 || epoch > std::int64_t{UINT32_MAX}) return std::nullopt;
  return static_cast<std::uint32_t>(epoch);
}

struct Record {
  Json json;
  std::uint32_t epoch = 0;
  std::size_t line = 0;     ///< counted from 1
  std::uint64_t start = 0;  ///< offset of its line in the file
};

/// The whole records of a file, one after the other.
class RecordReader {
 public:
  explicit RecordReader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) throw DataError(fmt::format("{}: cannot be read", path));
  }

  /// Nothing at the end. A crash can leave half a line there, or a whole one with zeros in it.
  std::optional<Record> next() {
    std::string text;
    if (!std::getline(file_, text) || file_.eof()) return std::nullopt;
    const bool is_last = file_.peek() == std::ifstream::traits_type::eof();
    ++line_;
    if (is_last && text.find('\0') != std::string::npos) return std::nullopt;
    check(text);
    check_json_depth(text, fmt::format("{}:{}", path_, line_));
    Record record{
        .json = Json::parse(text, nullptr, /*exceptions=*/false), .line = line_, .start = end_};
    const auto epoch = epoch_of(record.json);
    if (!epoch) fail("not a JSON object with an \"epoch\"");
    if (epoch_ && *epoch <= *epoch_) {
      fail(fmt::format("epoch {} comes after epoch {}", *epoch, *epoch_));
    }
    record.json.erase("crc32");
    epoch_ = record.epoch = *epoch;
    end_ += text.size() + 1;
    return record;
  }

  /// Where the last record ends.
  std::uint64_t end() const { return end_; }

 private:
  /// Where a line has a checksum, those after it must have one.
  void check(std::string_view text) {
    const Sum sum = check_sum(text);
    if (sum == Sum::kWrong) fail("wrong checksum: the line is damaged");
    if (sum == Sum::kNone && has_sums_) fail("has no checksum, but a line before it has one");
    has_sums_ = sum == Sum::kRight;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(fmt::format("{}:{}: {}", path_, line_, what));
  }

  const std::string& path_;
  std::ifstream file_;
  std::size_t line_ = 0;
  std::uint64_t end_ = 0;
  std::optional<std::uint32_t> epoch_;  ///< of the last record
  bool has_sums_ = false;
};

/// How much of the file is from before the epoch.
std::uint64_t bytes_before(const std::string& path, std::uint32_t next_epoch) {
  RecordReader reader(path);
  while (const auto record = reader.next()) {
    if (record->epoch >= next_epoch) return record->start;
  }
  return reader.end();
}

}  // namespace

MetricsLog::MetricsLog(std::string path, std::uint32_t next_epoch)
    : file_(std::move(path)), next_epoch_(next_epoch) {
  file_.truncate(bytes_before(file_.path(), next_epoch));
  file_.sync();
  sync_folder(std::filesystem::path(file_.path()).parent_path().string());
}

void MetricsLog::append(const nlohmann::ordered_json& record) {
  const auto epoch = epoch_of(record);
  if (!epoch) throw ConfigError(fmt::format("{}: a record without \"epoch\"", file_.path()));
  if (*epoch < next_epoch_) {
    throw ConfigError(fmt::format("{}: a record of epoch {}, but the log has come to epoch {}",
                                  file_.path(), *epoch, next_epoch_));
  }
  file_.append(with_sum(record.dump(-1, ' ', false, Json::error_handler_t::replace)) + '\n');
  file_.sync();
  next_epoch_ = *epoch + 1;
}

void visit_records(
    const std::string& path,
    const std::function<void(const nlohmann::ordered_json& record, std::size_t line)>& visit) {
  RecordReader reader(path);
  while (const auto record = reader.next()) visit(record->json, record->line);
}

}  // namespace impart::run
