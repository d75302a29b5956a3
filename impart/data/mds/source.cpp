#include "impart/data/mds/source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/data/mds/cache.h"

namespace impart::data {
namespace {

constexpr std::size_t kRoomBytes = std::size_t{1} << 20;

/// A block of a shard, and before it the front of a sample that the block before ended in. So
/// files are read at multiples of the block into the same pages, and only such fronts are copied.
class BlockBuffer {
 public:
  explicit BlockBuffer(std::size_t largest_sample)
      : room_((largest_sample / kPage + 1) * kPage),
        bytes_(static_cast<std::byte*>(
            ::operator new(room_ + std::max(room_, kRoomBytes), kAlignment))) {}
  ~BlockBuffer() { ::operator delete(bytes_, kAlignment); }
  BlockBuffer(const BlockBuffer&) = delete;
  BlockBuffer& operator=(const BlockBuffer&) = delete;

  /// Where the next `size` bytes of the shard go, after moving the last `kept` bytes before them.
  std::span<std::byte> next(std::size_t size, std::size_t kept) {
    std::memmove(bytes_ + room_ - kept, bytes_ + room_ + size_ - kept, kept);
    size_ = size;
    return {bytes_ + room_, size};
  }
  /// The byte that lies so many before the end of the block.
  const std::byte* from_end(std::size_t distance) const {
    return bytes_ + room_ + size_ - distance;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::align_val_t kAlignment{kPage};

  std::size_t room_, size_ = 0;
  std::byte* bytes_;
};

std::vector<std::byte> read_head(const MdsIndex& index, const MdsShard& shard) {
  MdsShardStream stream(index.folder, shard);
  std::vector<std::byte> head(mds_head_bytes(shard.samples));
  stream.read(head);
  return head;
}

std::uint32_t largest_sample(std::span<const std::uint32_t> offsets) {
  std::uint32_t largest = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    largest = std::max(largest, offsets[i] - offsets[i - 1]);
  }
  return largest;
}

}  // namespace

MdsSource::MdsSource(const MdsSourceSpec& spec)
    : index_(read_mds_index(spec.folder)),
      open_files_(spec.open_files),
      cache_(std::make_unique<MdsShardCache>(spec.cache_bytes)) {
  const std::uint64_t wanted =
      spec.limit == 0 ? std::numeric_limits<std::uint64_t>::max() : spec.limit;
  first_.push_back(0);
  for (std::size_t s = 0; s < index_.shards.size() && first_.back() < wanted; ++s) {
    const MdsShard& shard = index_.shards[s];
    MdsOffsets offsets = check_mds_offsets(read_head(index_, shard), index_, s);
    offsets.resize(std::min(shard.samples, wanted - first_.back()) + 1);
    offsets_.insert(offsets_.end(), offsets.begin(), offsets.end());
    first_.push_back(first_.back() + offsets.size() - 1);
    zipped_.push_back(find_mds_file(index_.folder, shard).zipped);
    largest_sample_ = std::max(largest_sample_, largest_sample(offsets));
  }
}

MdsSource::~MdsSource() = default;

std::span<const std::uint32_t> MdsSource::offsets_of(std::size_t shard) const {
  return std::span(offsets_).subspan(first_[shard] + shard, first_[shard + 1] - first_[shard] + 1);
}

MdsSource::Place MdsSource::find(ExampleId id) const {
  const std::uint64_t example = impart::index(id);
  if (example >= examples()) {
    throw Error(fmt::format("{}: there is no sample {}", index_.folder, example));
  }
  const auto next = std::upper_bound(first_.begin(), first_.end(), example);
  const auto shard = static_cast<std::size_t>(next - first_.begin()) - 1;
  const std::uint32_t* offset = &offsets_[example + shard];
  return {shard, example - first_[shard], offset[0], offset[1]};
}

std::uint64_t MdsSource::payload_bytes(ExampleId id) const {
  const Place place = find(id);
  return place.end - place.start;
}

std::string MdsSource::describe(ExampleId id) const {
  const Place place = find(id);
  return fmt::format("{}/{}, sample {}", index_.folder, index_.shards[place.shard].raw.name,
                     place.sample);
}

std::uint64_t MdsSource::read(ExampleId id, std::span<std::byte> payload) const {
  const Place place = find(id);
  if (payload.size() != place.end - place.start) {
    throw Error(fmt::format("{}: {} bytes to fill instead of {}", describe(id), payload.size(),
                            place.end - place.start));
  }
  if (!zipped_[place.shard]) {
    read_raw(place, payload);
    return payload.size();
  }
  std::uint64_t bytes_from_disk = 0;
  const MdsShardCache::Bytes shard = cache_->get(index_, place.shard, bytes_from_disk);
  std::memcpy(payload.data(), shard->data() + place.start, payload.size());
  return bytes_from_disk;
}

void MdsSource::read_raw(const Place& place, std::span<std::byte> payload) const {
  const auto path = [&] { return index_.folder + '/' + index_.shards[place.shard].raw.name; };
  const auto file = open_files_.get(static_cast<std::uint32_t>(place.shard), path);
  std::uint64_t offset = place.start;
  while (!payload.empty()) {
    const ssize_t got =
        ::pread(file->descriptor(), payload.data(), payload.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw DataError(fmt::format("{}: byte {}: sample {} cannot be read: {}", path(), offset,
                                  place.sample,
                                  got == 0 ? "the file was truncated" : std::strerror(errno)));
    }
    offset += static_cast<std::uint64_t>(got);
    payload = payload.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t MdsSource::read_in_order(const MdsVisitor& visit, const Progress& progress) const {
  BlockBuffer buffer(largest_sample_);
  std::uint64_t bytes_from_disk = 0;
  for (std::size_t shard = 0; shard + 1 < first_.size(); ++shard) {
    MdsShardStream stream(index_.folder, index_.shards[shard]);
    const std::span<const std::uint32_t> offsets = offsets_of(shard);
    const std::size_t samples = offsets.size() - 1;
    std::uint64_t at = 0;  // how much of the shard was read
    std::size_t next = 0;  // the sample to hand out next
    while (next < samples) {
      // At least the rest of that sample, so that no byte is moved twice.
      const std::uint64_t rest = at < offsets[next] ? 0 : offsets[next + 1] - at;
      const std::uint64_t kept = at < offsets[next] ? 0 : at - offsets[next];
      const std::uint64_t size =
          std::min<std::uint64_t>(std::max<std::uint64_t>(rest, kRoomBytes), offsets.back() - at);
      stream.read(buffer.next(size, kept));
      at += size;
      for (; next < samples && offsets[next + 1] <= at; ++next) {
        visit(ExampleId{first_[shard] + next},
              {buffer.from_end(at - offsets[next]), offsets[next + 1] - offsets[next]});
      }
      if (progress) progress(first_[shard] + next, examples());
    }
    if (at == index_.shards[shard].raw.bytes) stream.expect_end();
    bytes_from_disk += stream.bytes_from_disk();
  }
  return bytes_from_disk;
}

}  // namespace impart::data
