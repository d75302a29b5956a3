#include "impart/data/mds/index.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"

namespace impart::data {
namespace {

using nlohmann::json;

constexpr int kMdsVersion = 2;

/// As Python's json.dumps(…, sort_keys=True) writes it: a blank after commas and colons, ASCII
/// only.
std::string python_text(const json& value) {
  std::string text;
  const auto separate = [&] { text += text.size() > 1 ? ", " : ""; };
  if (value.is_object()) {
    text = "{";
    for (const auto& [key, element] : value.items()) {
      separate();
      text += json(key).dump(-1, ' ', true) + ": " + python_text(element);
    }
    return text + "}";
  }
  if (value.is_array()) {
    text = "[";
    for (const json& element : value) {
      separate();
      text += python_text(element);
    }
    return text + "]";
  }
  return value.dump(-1, ' ', true);
}

json to_json(const MdsFile& file) {
  return {{"basename", file.name}, {"bytes", file.bytes}, {"hashes", file.hashes}};
}

json to_json(const MdsConfig& config) {
  json names = json::array(), encodings = json::array(), sizes = json::array();
  for (const MdsColumn& column : config.columns) {
    names.push_back(column.name);
    encodings.push_back(column.encoding);
    sizes.push_back(column.fixed_bytes == 0 ? json() : json(column.fixed_bytes));
  }
  return {{"version", kMdsVersion},
          {"format", "mds"},
          {"compression", config.compression.empty() ? json() : json(config.compression)},
          {"hashes", config.hashes},
          {"size_limit", config.shard_bytes},
          {"column_names", names},
          {"column_encodings", encodings},
          {"column_sizes", sizes}};
}

/// Names are joined to the folder, and must not lead out of it.
void check_name(const std::string& name) {
  bool inside = !name.empty() && name.front() != '/' && name.find('\0') == std::string::npos;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    inside = inside && name.substr(at, end - at) != "..";
    at = end + 1;
  }
  if (!inside)
    throw DataError(fmt::format("file name '{}' leads out of the folder", shorten(name)));
}

MdsFile parse_file(const json& value) {
  MdsFile file{.name = value.at("basename").get<std::string>(),
               .bytes = whole_number(value.at("bytes"))};
  check_name(file.name);
  if (value.contains("hashes")) value.at("hashes").get_to(file.hashes);
  return file;
}

std::vector<MdsColumn> parse_columns(const json& shard) {
  const auto names = shard.at("column_names").get<std::vector<std::string>>();
  const auto encodings = shard.at("column_encodings").get<std::vector<std::string>>();
  const json& sizes = shard.at("column_sizes");
  if (names.empty() || encodings.size() != names.size() || sizes.size() != names.size()) {
    throw DataError(fmt::format("{} column names, {} encodings, {} sizes", names.size(),
                                encodings.size(), sizes.size()));
  }
  std::vector<MdsColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto bytes = sizes[i].is_null() ? 0 : whole_number(sizes[i]);
    const std::uint32_t known = mds_fixed_bytes(encodings[i]);
    if (bytes > kMostShardBytes || (known != 0 && known != bytes)) {
      throw DataError(fmt::format("column '{}' ({}) cannot have values of {} bytes", names[i],
                                  encodings[i], bytes));
    }
    columns.push_back({names[i], encodings[i], static_cast<std::uint32_t>(bytes)});
  }
  return columns;
}

void check_known(const json& shard) {
  if (shard.at("version") != kMdsVersion || shard.at("format") != "mds") {
    throw DataError(fmt::format("format {} version {}, not \"mds\" version {}",
                                shown(shard.at("format")), shown(shard.at("version")),
                                kMdsVersion));
  }
}

MdsShard parse_shard(const json& value) {
  check_known(value);
  MdsShard shard{.samples = whole_number(value.at("samples")),
                 .raw = parse_file(value.at("raw_data"))};
  const bool is_zipped = value.contains("zip_data") && !value.at("zip_data").is_null();
  if (is_zipped) {
    shard.zip = parse_file(value.at("zip_data"));
    shard.compression = value.at("compression").get<std::string>();
  }
  // The number of samples and one offset more than there are samples take 4 bytes each.
  const bool has_room = shard.raw.bytes >= 8 && shard.samples <= shard.raw.bytes / 4 - 2;
  if (shard.raw.bytes > kMostShardBytes || !has_room) {
    throw DataError(
        fmt::format("{} samples in {} bytes cannot be", shard.samples, shard.raw.bytes));
  }
  return shard;
}

MdsIndex parse_index(const std::string& folder, const json& value) {
  if (value.at("version") != kMdsVersion) {
    throw DataError(fmt::format("version {}, not {}", shown(value.at("version")), kMdsVersion));
  }
  MdsIndex index{.folder = folder, .columns = {}, .shards = {}};
  for (const json& shard : value.at("shards")) {
    try {
      index.shards.push_back(parse_shard(shard));
      const std::vector<MdsColumn> columns = parse_columns(shard);
      if (index.columns.empty()) index.columns = columns;
      if (columns != index.columns) throw DataError("other columns than in shard 0");
    } catch (const DataError& error) {
      throw DataError(fmt::format("shard {}: {}", index.shards.size(), error.what()));
    }
  }
  if (index.shards.empty()) throw DataError("there are no shards in it");
  return index;
}

}  // namespace

std::uint64_t MdsIndex::samples() const {
  std::uint64_t sum = 0;
  for (const MdsShard& shard : shards) sum += shard.samples;
  return sum;
}

MdsIndex read_mds_index(const std::string& folder) {
  return parse_mds_index(folder, InputFile(folder + "/index.json").text());
}

MdsIndex parse_mds_index(const std::string& folder, std::string_view text) {
  const auto damaged = [&](const std::exception& error) {
    return DataError(
        fmt::format("{}/index.json: not a usable index of MDS shards: {}", folder, error.what()));
  };
  try {
    return parse_index(folder, parse_json(text, "index.json"));
  } catch (const json::exception& error) {
    throw damaged(error);
  } catch (const DataError& error) {
    throw damaged(error);
  }
}

std::string mds_shard_text(const MdsConfig& config) {
  return python_text(to_json(config));
}

std::string mds_index_text(const MdsConfig& config, const std::vector<MdsShard>& shards) {
  json entries = json::array();
  for (const MdsShard& shard : shards) {
    json entry = to_json(config);
    entry["samples"] = shard.samples;
    entry["raw_data"] = to_json(shard.raw);
    entry["zip_data"] = shard.zip ? to_json(*shard.zip) : json();
    entries.push_back(std::move(entry));
  }
  return python_text({{"version", kMdsVersion}, {"shards", std::move(entries)}});
}

}  // namespace impart::data
