#include "impart/importance/table_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"

namespace impart::importance {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "IMPTABLE";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kAlignment = 64;

/// What stands before the JSON header.
struct Preamble {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t header_hash;
};
static_assert(sizeof(Preamble) == 24);
static_assert(std::endian::native == std::endian::little, "numbers are written in native order");

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string padding_after(std::size_t bytes) {
  return std::string((kAlignment - bytes % kAlignment) % kAlignment, '\0');
}

}  // namespace

/// Reads and writes a table's private state.
struct TableFile {
  /// Calls f(name, array) for every array that is part of the state and not empty.
  template <class Table, class Function>
  static void for_each_array(Table& table, Function&& f) {
    for_each_column(table.columns_, [&](std::string_view name, auto& column, Scope, StateSet) {
      if (!column.empty()) f(std::string(name), column);
    });
    if (!table.spec_.truth.empty()) f(std::string("truth"), table.spec_.truth);
    for (std::size_t i = 0; i < table.previous_.size(); ++i) {
      f(fmt::format("previous/{}", table.spec_.notions[i].name), table.previous_[i]);
    }
    for (std::size_t epoch = 0; epoch < table.history_.size(); ++epoch) {
      f(fmt::format("history/{}", epoch), table.history_[epoch]);
    }
  }

  static json describe(const ImportanceTable& table) {
    const TableSpec& spec = table.spec_;
    json notions = json::array();
    for (const AnyNotion& notion : spec.notions) notions.push_back(notion.name);
    json header = {{"examples", spec.examples},
                   {"notions", notions},
                   {"keeps", static_cast<std::uint32_t>(spec.keeps)},
                   {"ignore", spec.ignore},
                   {"window", spec.window == WindowKind::kRun ? "run" : "interval"},
                   {"ema_weight", spec.ema_weight},
                   {"seed", spec.seed},
                   {"history", spec.history},
                   {"window_number", table.window_number_},
                   {"non_finite_visits", table.non_finite_visits_},
                   {"has_previous", !table.previous_.empty()},
                   {"history_epochs", table.history_.size()},
                   {"has_truth", !spec.truth.empty()},
                   {"arrays", json::array()}};
    for_each_array(table, [&](const std::string& name, const auto& array) {
      const auto bytes = std::as_bytes(std::span(array));
      header["arrays"].push_back(
          {{"name", name}, {"bytes", bytes.size()}, {"xxh3", hash_of(bytes)}});
    });
    return header;
  }

  /// An empty table of the saved spec, its arrays ready to be filled.
  static ImportanceTable prepare(const json& header, const std::vector<AnyNotion>& own,
                                 std::uint64_t examples) {
    TableSpec spec;
    spec.examples = examples;
    const auto names = names_of(kNotions, own);
    for (const std::string name : header.at("notions")) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        throw DataError(fmt::format("unknown notion '{}'", shorten(name)));
      }
      spec.notions.push_back(find_entry(kNotions, own, "notion", name));
    }
    spec.keeps =
        static_cast<StateSet>(whole_number<std::uint32_t>(header.value("keeps", json(0u))));
    spec.ignore = whole_number<std::uint32_t>(header.at("ignore"));
    spec.window = header.at("window") == "run" ? WindowKind::kRun : WindowKind::kInterval;
    spec.ema_weight = header.at("ema_weight");
    spec.seed = whole_number(header.at("seed"));
    spec.history = header.at("history");
    if (header.at("has_truth")) spec.truth.resize(spec.examples);
    ImportanceTable table(std::move(spec));
    table.window_number_ = whole_number<std::uint32_t>(header.at("window_number"));
    table.non_finite_visits_ = whole_number(header.at("non_finite_visits"));
    if (header.at("has_previous")) {
      table.previous_.assign(table.spec_.notions.size(), std::vector<float>(table.spec_.examples));
    }
    table.history_.assign(whole_number(header.at("history_epochs")),
                          std::vector<float>(table.spec_.examples));
    return table;
  }

  /// A table of the saved spec, once it is known that the file has as much data as that needs.
  static ImportanceTable prepare_checked(const json& header, const std::vector<AnyNotion>& own,
                                         std::uint64_t data_bytes) {
    const auto examples = whole_number(header.at("examples"));
    const std::uint64_t listed = header.at("arrays").size();
    if (whole_number(header.at("history_epochs")) > listed) {
      throw DataError("more epochs of history than arrays");
    }
    std::uint64_t arrays = 0, bytes_of_one = 0;
    const ImportanceTable of_one_example = prepare(header, own, 1);
    for_each_array(of_one_example, [&](const std::string&, const auto& array) {
      ++arrays;
      bytes_of_one += std::as_bytes(std::span(array)).size();
    });
    const bool fits = arrays == listed && (arrays == 0 || examples <= data_bytes / bytes_of_one);
    if (examples > 0 && !fits) {
      throw DataError(fmt::format("{} examples in {} arrays cannot be in {} bytes of data",
                                  examples, listed, data_bytes));
    }
    return prepare(header, own, examples);
  }

  static void fill(ImportanceTable& table, const json& arrays, std::span<const std::byte> data) {
    std::size_t number = 0;
    for_each_array(table, [&](const std::string& name, auto& array) {
      const json& entry = arrays.at(number++);
      const auto target = std::as_writable_bytes(std::span(array));
      if (entry.at("name") != name || entry.at("bytes") != target.size()) {
        throw DataError(fmt::format("array '{}' is not as the header says", name));
      }
      const std::size_t padded = target.size() + padding_after(target.size()).size();
      if (data.size() < padded) throw DataError(fmt::format("truncated in array '{}'", name));
      const auto source = data.first(target.size());
      if (hash_of(source) != whole_number(entry.at("xxh3"))) {
        throw DataError(fmt::format("wrong checksum of array '{}': the file is damaged", name));
      }
      if (!source.empty()) std::memcpy(target.data(), source.data(), source.size());
      data = data.subspan(padded);
    });
    if (!data.empty()) throw DataError(fmt::format("{} bytes left over at the end", data.size()));
  }

  static ImportanceTable load(std::span<const std::byte> file, const std::vector<AnyNotion>& own) {
    Preamble preamble;
    if (file.size() < sizeof(preamble)) throw DataError("truncated in its header");
    std::memcpy(&preamble, file.data(), sizeof(preamble));
    if (std::string_view(preamble.magic.data(), preamble.magic.size()) != kMagic) {
      throw DataError("not an importance table");
    }
    if (preamble.version != kVersion) {
      throw DataError(fmt::format("format version {}; this program reads version {}",
                                  preamble.version, kVersion));
    }
    if (file.size() - sizeof(preamble) < preamble.header_bytes) {
      throw DataError("truncated in its header");
    }
    const auto text = file.subspan(sizeof(preamble), preamble.header_bytes);
    if (hash_of(text) != preamble.header_hash) {
      throw DataError("wrong checksum of its header: the file is damaged");
    }
    const auto* begin = reinterpret_cast<const char*>(text.data());
    const json header = parse_json(std::string_view(begin, text.size()), "its header");
    const auto data = file.subspan(sizeof(preamble) + text.size());
    ImportanceTable table = prepare_checked(header, own, data.size());
    fill(table, header.at("arrays"), data);
    return table;
  }
};

namespace {

/// Calls put(bytes) with the file's bytes, piece by piece.
template <class Put>
void put_table(const ImportanceTable& table, Put put) {
  std::string header = TableFile::describe(table).dump();
  header.append((kAlignment - (sizeof(Preamble) + header.size()) % kAlignment) % kAlignment, ' ');
  Preamble preamble{.magic = {},
                    .version = kVersion,
                    .header_bytes = static_cast<std::uint32_t>(header.size()),
                    .header_hash = hash_of(std::as_bytes(std::span(header)))};
  std::copy(kMagic.begin(), kMagic.end(), preamble.magic.begin());
  put(std::as_bytes(std::span(&preamble, 1)));
  put(std::as_bytes(std::span(header)));
  TableFile::for_each_array(table, [&](const std::string&, const auto& array) {
    const auto bytes = std::as_bytes(std::span(array));
    put(bytes);
    const std::string padding = padding_after(bytes.size());
    put(std::as_bytes(std::span(padding)));
  });
}

}  // namespace

std::string table_bytes(const ImportanceTable& table) {
  std::string bytes;
  put_table(table, [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return bytes;
}

ImportanceTable table_from_bytes(std::span<const std::byte> bytes,
                                 const std::vector<AnyNotion>& own) {
  try {
    return TableFile::load(bytes, own);
  } catch (const json::exception& error) {
    throw DataError(fmt::format("damaged header: {}", error.what()));
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("damaged header: {}", error.what()));
  }
}

void save_table(const std::string& path, const ImportanceTable& table) {
  OutputFile file(path);
  put_table(table, [&](std::span<const std::byte> piece) { file.write(piece); });
  file.commit();
}

ImportanceTable load_table(const std::string& path, const std::vector<AnyNotion>& own) {
  const InputFile file(path);
  try {
    return table_from_bytes(file.bytes(), own);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace impart::importance
