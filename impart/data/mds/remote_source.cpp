#include "impart/data/mds/remote_source.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/mds/cache.h"
#include "impart/data/mds/shard.h"
#include "impart/data/remote/listed_files.h"
#include "impart/data/remote/remote_ranges.h"

namespace impart::data {
namespace {

/// A frame of zstd is made of blocks of at most 128 KiB, each of which is stored as it is if it
/// does not shrink: with so many bytes more than wanted, the wanted ones can be uncompressed.
constexpr std::uint64_t kZstdSlack = std::uint64_t{192} << 10;
/// Attempts to get a shard whose hashes are right.
constexpr int kShardAttempts = 4;

const MdsFile& file_on_server(const MdsShard& shard) {
  return shard.zip ? *shard.zip : shard.raw;
}

/// What reading a copy throws, about the original.
template <class Function>
auto about_originals(const ListedFiles::Copy& copy, Function&& function) {
  try {
    return function();
  } catch (const DataError& error) {
    throw DataError(copy.about_original(error.what()));
  }
}

}  // namespace

RemoteMds fetch_mds_files(ObjectReader& reader) {
  ListedFiles files(reader);
  const std::vector<std::byte> text = files.fetch("index.json");
  MdsIndex index =
      parse_mds_index(reader.folder(), {reinterpret_cast<const char*>(text.data()), text.size()});
  const ListedFiles::Copy copy = files.copy(kMdsSidecarNames);
  MdsSidecars sidecars =
      about_originals(copy, [&] { return read_mds_sidecars(copy.path(), index.samples()); });
  return {std::move(index), std::move(sidecars)};
}

RemoteMdsSource::RemoteMdsSource(RemoteMdsSpec spec) : spec_(std::move(spec)) {
  const MdsIndex& index = spec_.index;
  const std::uint64_t wanted =
      spec_.limit == 0 ? std::numeric_limits<std::uint64_t>::max() : spec_.limit;
  std::size_t shards = 0;
  for (std::uint64_t samples = 0; shards < index.shards.size() && samples < wanted; ++shards) {
    samples += index.shards[shards].samples;
  }
  const std::vector<std::vector<std::byte>> fronts = fetch_fronts(shards);
  RemoteRangesSpec ranges{.reader = spec_.reader, .gap = spec_.gap};
  first_.push_back(0);
  for (std::size_t s = 0; s < shards; ++s) {
    const MdsOffsets offsets = check_mds_offsets(fronts[s], index, s);
    const std::uint64_t samples = std::min(index.shards[s].samples, wanted - first_.back());
    ranges.objects.append(file_on_server(index.shards[s]).name);
    ranges.object_bytes.push_back(file_on_server(index.shards[s]).bytes);
    for (std::uint64_t i = 0; i < samples; ++i) {
      ranges.ranges.push_back({.offset = offsets[i],
                               .file = static_cast<std::uint32_t>(s),
                               .bytes = offsets[i + 1] - offsets[i]});
      starts_.push_back(offsets[i]);
    }
    first_.push_back(first_.back() + samples);
  }
  if (!spec_.sums.empty()) {
    ranges.sums.assign(spec_.sums.begin(),
                       spec_.sums.begin() + static_cast<std::ptrdiff_t>(first_.back()));
  }
  ranges_ = make_remote_range_source(std::move(ranges));
  cache_ = std::make_unique<MdsShardCache>(
      spec_.cache_bytes, [this](const MdsIndex&, const MdsShard& shard, std::uint64_t& bytes) {
        return load(shard, bytes);
      });
}

RemoteMdsSource::~RemoteMdsSource() = default;

/// The first bytes of the shards, uncompressed: the number of samples and their offsets.
std::vector<std::vector<std::byte>> RemoteMdsSource::fetch_fronts(std::size_t shards) const {
  std::vector<std::vector<std::byte>> fronts(shards);
  std::vector<ObjectRead> reads;
  for (std::size_t s = 0; s < shards; ++s) {
    const MdsShard& shard = spec_.index.shards[s];
    const MdsFile& file = file_on_server(shard);
    if (shard.zip) check_mds_compression(fmt::format("{}/{}", index().folder, file.name), shard);
    const std::uint64_t head = mds_head_bytes(shard.samples);
    fronts[s].resize(shard.zip ? std::min(head + kZstdSlack, file.bytes) : head);
    reads.push_back({.name = file.name, .into = fronts[s], .object_bytes = file.bytes});
  }
  spec_.reader->read(reads);
  for (std::size_t s = 0; s < shards; ++s) {
    const MdsShard& shard = spec_.index.shards[s];
    if (!shard.zip) continue;
    fronts[s] = unzip_mds_shard(fmt::format("{}/{}", index().folder, shard.zip->name), shard,
                                fronts[s], mds_head_bytes(shard.samples));
  }
  return fronts;
}

std::size_t RemoteMdsSource::shard_of(ExampleId id) const {
  const std::uint64_t example = impart::index(id);
  if (example >= examples()) {
    throw Error(fmt::format("{}: there is no sample {}", index().folder, example));
  }
  const auto next = std::upper_bound(first_.begin(), first_.end(), example);
  return static_cast<std::size_t>(next - first_.begin()) - 1;
}

std::string RemoteMdsSource::describe(ExampleId id) const {
  const std::size_t shard = shard_of(id);
  return fmt::format("{}/{}, sample {}", index().folder, index().shards[shard].raw.name,
                     impart::index(id) - first_[shard]);
}

std::uint64_t RemoteMdsSource::read(ExampleId id, std::span<std::byte> payload) const {
  const PayloadWish wish{id, payload};
  return read_all({&wish, 1});
}

std::uint64_t RemoteMdsSource::read_all(std::span<const PayloadWish> wishes) const {
  std::vector<PayloadWish> plain, zipped;
  for (const PayloadWish& wish : wishes) {
    (is_zipped(shard_of(wish.id)) ? zipped : plain).push_back(wish);
  }
  std::uint64_t bytes = plain.empty() ? 0 : ranges_->read_all(plain);
  // Shard by shard, so that each is loaded once.
  std::sort(zipped.begin(), zipped.end(),
            [](const PayloadWish& a, const PayloadWish& b) { return a.id < b.id; });
  for (const PayloadWish& wish : zipped) {
    if (wish.payload.size() != payload_bytes(wish.id)) {
      throw Error(fmt::format("{}: {} bytes to fill instead of {}", describe(wish.id),
                              wish.payload.size(), payload_bytes(wish.id)));
    }
    const MdsShardCache::Bytes shard = cache_->get(index(), shard_of(wish.id), bytes);
    std::memcpy(wish.payload.data(), shard->data() + starts_[impart::index(wish.id)],
                wish.payload.size());
  }
  return bytes;
}

std::vector<std::byte> RemoteMdsSource::load(const MdsShard& shard, std::uint64_t& bytes) const {
  const MdsFile& file = file_on_server(shard);
  const std::string path = fmt::format("{}/{}", index().folder, file.name);
  for (int attempt = 1;; ++attempt) {
    std::vector<std::byte> contents(file.bytes);
    const ObjectRead read{.name = file.name, .into = contents, .object_bytes = file.bytes};
    bytes += spec_.reader->read({&read, 1});
    try {
      check_mds_hashes(path, file, contents, true);
      if (shard.zip) contents = unzip_mds_shard(path, shard, contents, shard.raw.bytes);
      check_mds_hashes(fmt::format("{}/{}", index().folder, shard.raw.name), shard.raw, contents,
                       true);
      return contents;
    } catch (const DataError&) {
      if (attempt == kShardAttempts) throw;
    }
  }
}

std::uint64_t RemoteMdsSource::read_in_order(const MdsVisitor& visit,
                                             const Progress& progress) const {
  std::uint64_t bytes = 0;
  for (std::size_t s = 0; s + 1 < first_.size(); ++s) {
    const std::vector<std::byte> shard = load(spec_.index.shards[s], bytes);
    for (std::uint64_t example = first_[s]; example < first_[s + 1]; ++example) {
      const ExampleId id{example};
      visit(id, std::span(shard).subspan(starts_[example], payload_bytes(id)));
    }
    if (progress) progress(first_[s + 1], examples());
  }
  return bytes;
}

}  // namespace impart::data
