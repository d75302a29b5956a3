#include "impart/data/mds/pack.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/known_files.h"
#include "impart/data/mds/sidecars.h"
#include "impart/data/mds/source.h"
#include "impart/data/mds/writer.h"
#include "impart/data/payloads/staged_folder.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

enum class PayloadKind { Jpeg, Png, Raw };

bool starts_with(std::span<const std::byte> payload, std::string_view magic) {
  return payload.size() >= magic.size() &&
         std::memcmp(payload.data(), magic.data(), magic.size()) == 0;
}

/// Pixels may look like the front of a file, but files do not all have the size of an image.
bool is_raw(const ExampleSet& set) {
  for (std::uint64_t i = 0; i < set.count(); ++i) {
    if (set.payloads->payload_bytes(ExampleId{i}) != set.image_bytes()) return false;
  }
  return true;
}

std::string encoding_of(PayloadKind kind, const ExampleSet& set) {
  if (kind == PayloadKind::Jpeg) return "jpeg";
  if (kind == PayloadKind::Png) return "png";
  return fmt::format("ndarray:uint8:{},{},{}", set.channels, set.height, set.width);
}

void make_empty_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) fs::create_directory(path, error);
  if (error) throw IoError(fmt::format("{}: cannot create: {}", path, error.message()));
}

/// Reads payloads one after the other, and says how far it has come over both sets.
class PayloadReader {
 public:
  PayloadReader(const ExampleData& data, const MdsPackSpec& spec, const Progress& progress)
      : total_(data.train.count() + data.test.count()), spec_(spec), progress_(progress) {}

  std::span<const std::byte> read(const PayloadSource& source, std::uint64_t example) {
    if (spec_.stop_requested && spec_.stop_requested()) throw MdsPackInterrupted{};
    payload_.resize(source.payload_bytes(ExampleId{example}));
    source.read(ExampleId{example}, payload_);
    if (progress_) progress_(++done_, total_);
    return payload_;
  }
  void take_back(std::uint64_t examples) { done_ -= examples; }

 private:
  std::uint64_t done_ = 0, total_;
  const MdsPackSpec& spec_;
  const Progress& progress_;
  std::vector<std::byte> payload_;
};

/// One of the two sets on its way into shards.
class SetPacker {
 public:
  SetPacker(const ExampleSet& set, std::string folder, const MdsPackSpec& spec)
      : set_(set), raw_(is_raw(set)), folder_(std::move(folder)), spec_(spec) {}

  /// All but the index.
  void pack(PayloadReader& reader) {
    if (const auto* source = dynamic_cast<const MdsSamples*>(set_.payloads.get())) {
      columns_ = source->index().columns;
      restart();
      for (std::uint64_t i = 0; i < set_.count(); ++i) {
        writer_->add_sample(reader.read(*source, i));
      }
      return;
    }
    if (pack_payloads(reader, std::nullopt)) return;
    // JPEG and PNG files in one set are known only once both were seen.
    pack_payloads(reader, "bytes");
  }

  void finish() {
    write_mds_sidecars(folder_, set_);
    if (writer_) writer_->finish();
  }
  std::string encoding() const { return columns_.empty() ? "" : columns_.front().encoding; }

 private:
  /// A writer for the columns; what an earlier one wrote is overwritten or removed.
  void restart() {
    make_empty_folder(folder_);
    writer_.emplace(folder_, MdsConfig{.columns = columns_,
                                       .compression = spec_.compression,
                                       .hashes = spec_.hashes,
                                       .shard_bytes = spec_.shard_bytes});
  }

  /// False if photographs of another kind than the first turn up, and no encoding for both is
  /// given.
  bool pack_payloads(PayloadReader& reader, std::optional<std::string> encoding) {
    std::optional<PayloadKind> first;
    for (std::uint64_t i = 0; i < set_.count(); ++i) {
      const auto payload = reader.read(*set_.payloads, i);
      const PayloadKind kind = require_kind(payload, i);
      if (!first) {
        first = kind;
        columns_ = {make_mds_column("image", encoding.value_or(encoding_of(kind, set_))),
                    make_mds_column("label", "int")};
        restart();
      }
      if (kind != *first && !encoding) {
        reader.take_back(i + 1);
        return false;
      }
      const std::int64_t label = set_.labels[i];
      const std::array values = {payload, std::as_bytes(std::span(&label, 1))};
      writer_->add(values);
    }
    return true;
  }

  PayloadKind require_kind(std::span<const std::byte> payload, std::uint64_t example) const {
    if (raw_) return PayloadKind::Raw;
    if (starts_with(payload, "\xFF\xD8\xFF")) return PayloadKind::Jpeg;
    if (starts_with(payload, "\x89PNG\r\n\x1A\n")) return PayloadKind::Png;
    throw DataError(fmt::format("{}: its {} bytes are neither a JPEG nor a PNG file",
                                set_.payloads->describe(ExampleId{example}), payload.size()));
  }

  const ExampleSet& set_;
  bool raw_;  ///< payloads are pixels, not files
  std::string folder_;
  const MdsPackSpec& spec_;
  std::vector<MdsColumn> columns_;
  std::optional<MdsWriter> writer_;
};

constexpr const char* kFilesOfSets[] = {
    "train/sums.npy",      "train/sums.json",  "test/sums.npy",     "test/sums.json",
    "val/sums.npy",        "val/sums.json",    "train/index.json",  "train/*.mds",
    "train/*.mds.zstd",    "train/labels.npy", "train/truth.npy",   "train/classes.json",
    "train/channels.json", "test/index.json",  "test/*.mds",        "test/*.mds.zstd",
    "test/labels.npy",     "test/truth.npy",   "test/classes.json", "test/channels.json",
    "val/index.json",      "val/*.mds",        "val/*.mds.zstd",    "val/labels.npy",
    "val/truth.npy",       "val/classes.json", "val/channels.json",
};

/// Only what is a data set of shards and nothing else, or empty, may be replaced: not someone's
/// home.
void check_replaceable(const std::string& destination) {
  std::error_code error;
  if (!fs::exists(destination, error) || fs::is_empty(destination, error)) return;
  const auto has_index = [&](const char* set) {
    return fs::exists(fs::path(destination) / set / "index.json", error);
  };
  if (!has_index("train") && !has_index("test") && !has_index("val")) {
    throw ConfigError(
        fmt::format("{}: is no data set of shards, so it is not overwritten", destination));
  }
  const KnownFiles files = sort_files(destination, kFilesOfSets);
  if (files.foreign.empty()) return;
  throw ConfigError(fmt::format(
      "{}: holds what is not of a data set of shards, so it is not overwritten: {}; move that away",
      destination, list_some(files.foreign)));
}

std::uint64_t payload_bytes_of(const ExampleSet& set) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < set.count(); ++i) sum += set.payloads->payload_bytes(ExampleId{i});
  return sum;
}

}  // namespace

MdsPackSummary pack_mds(const ExampleData& data, const MdsPackSpec& spec,
                        const Progress& progress) {
  MdsWriter("", {.columns = {},
                 .compression = spec.compression,
                 .hashes = spec.hashes,
                 .shard_bytes = spec.shard_bytes});  // checks them before there is a folder
  if (spec.overwrite) check_replaceable(spec.destination);
  for (const ExampleSet* set : {&data.train, &data.test}) {
    if (set->count() == 0) throw ConfigError("there is nothing to pack: a set without examples");
  }
  StagedFolder folder({.destination = spec.destination, .replace = spec.overwrite});
  PayloadReader reader(data, spec, progress);
  SetPacker train(data.train, folder.path() + "/train", spec);
  SetPacker test(data.test, folder.path() + "/test", spec);
  train.pack(reader);
  test.pack(reader);
  train.finish();
  test.finish();
  folder.commit();
  return {.examples = data.train.count() + data.test.count(),
          .payload_bytes = payload_bytes_of(data.train) + payload_bytes_of(data.test),
          .encoding = train.encoding()};
}

}  // namespace impart::data
