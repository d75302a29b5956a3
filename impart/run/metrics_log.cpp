#include "impart/run/metrics_log.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

struct Record {
  Json json;
  std::uint32_t epoch = 0;
  std::uint64_t start = 0;  ///< offset of its line in the file
};

std::optional<std::uint32_t> epoch_of(const Json& record) {
  if (!record.is_object()) return std::nullopt;
  const auto found = record.find("epoch");
  if (found == record.end() || !found->is_number_integer()) return std::nullopt;
  const auto epoch = found->get<std::int64_t>();
  if (epoch < 0 || epoch > std::int64_t{UINT32_MAX}) return std::nullopt;
  return static_cast<std::uint32_t>(epoch);
}

/// The records of a file, and where the last whole one ends.
struct Records {
  std::vector<Record> records = {};
  std::uint64_t end = 0;
};

/// A crash can leave half a line, or a whole one full of zeros: both only at the end.
Records parse_records(const InputFile& file) {
  Records parsed;
  const std::string_view text = file.text();
  for (std::size_t start = 0, line = 1; start < text.size(); ++line) {
    const std::size_t newline = text.find('\n', start);
    if (newline == std::string_view::npos) return parsed;
    Json json = Json::parse(text.substr(start, newline - start), nullptr, /*exceptions=*/false);
    const auto epoch = epoch_of(json);
    if (!epoch && newline + 1 == text.size()) return parsed;
    if (!epoch) {
      throw DataError(fmt::format("{}:{}: not a JSON object with an \"epoch\"", file.path(), line));
    }
    parsed.records.push_back({std::move(json), *epoch, start});
    start = newline + 1;
    parsed.end = start;
  }
  return parsed;
}

/// How much of the file is from before the epoch.
std::uint64_t bytes_before(const std::string& path, std::uint32_t next_epoch) {
  const Records parsed = parse_records(InputFile(path));
  for (const Record& record : parsed.records) {
    if (record.epoch >= next_epoch) return record.start;
  }
  return parsed.end;
}

}  // namespace

MetricsLog::MetricsLog(std::string path, std::uint32_t next_epoch)
    : file_(std::move(path)), next_epoch_(next_epoch) {
  file_.truncate(bytes_before(file_.path(), next_epoch));
  file_.sync();
}

void MetricsLog::append(const nlohmann::ordered_json& record) {
  const auto epoch = epoch_of(record);
  if (!epoch) throw ConfigError(fmt::format("{}: a record without \"epoch\"", file_.path()));
  if (*epoch < next_epoch_) {
    throw ConfigError(fmt::format("{}: a record of epoch {}, but the log has come to epoch {}",
                                  file_.path(), *epoch, next_epoch_));
  }
  file_.append(record.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  file_.sync();
  next_epoch_ = *epoch;
}

std::vector<nlohmann::ordered_json> read_records(const std::string& path) {
  Records parsed = parse_records(InputFile(path));
  std::vector<Json> records;
  for (Record& record : parsed.records) records.push_back(std::move(record.json));
  return records;
}

}  // namespace impart::run
