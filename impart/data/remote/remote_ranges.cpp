#include "impart/data/remote/remote_ranges.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

/// Attempts to get a payload whose sum is right.
constexpr int kSumAttempts = 4;

/// A request for neighbours, and which of the wishes it serves.
struct MergedRead {
  std::uint64_t start = 0, end = 0;
  std::uint32_t object = 0;
  std::size_t first = 0, count = 0;    ///< of the sorted wishes
  std::vector<std::byte> buffer = {};  ///< unless it serves one wish
};

class RemoteRangeSource final : public PayloadSource {
 public:
  explicit RemoteRangeSource(RemoteRangesSpec spec) : spec_(std::move(spec)) {
    const bool fits =
        (spec_.sums.empty() || spec_.sums.size() == spec_.ranges.size()) &&
        (spec_.object_bytes.empty() || spec_.object_bytes.size() == spec_.objects.size());
    if (!fits) throw Error("make_remote_range_source: sums or sizes of something else");
  }

  std::uint64_t examples() const override { return spec_.ranges.size(); }
  std::uint64_t payload_bytes(ExampleId id) const override { return range_of(id).bytes; }
  bool is_remote() const override { return true; }
  std::uint64_t requests() const override { return spec_.reader->requests(); }

  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    const PayloadWish wish{id, payload};
    return read_all({&wish, 1});
  }

  std::uint64_t read_all(std::span<const PayloadWish> wishes) const override {
    std::vector<PayloadWish> left;
    for (const PayloadWish& wish : wishes) {
      if (wish.payload.size() != range_of(wish.id).bytes) {
        throw Error(fmt::format("{}: {} bytes to fill instead of {}", describe(wish.id),
                                wish.payload.size(), range_of(wish.id).bytes));
      }
      if (!wish.payload.empty()) left.push_back(wish);
    }
    std::uint64_t bytes = 0;
    for (int attempt = 0; !left.empty() && attempt < kSumAttempts; ++attempt) {
      bytes += fetch(left);
      std::erase_if(left, [&](const PayloadWish& wish) { return is_right(wish); });
    }
    if (left.empty()) return bytes;
    throw DataError(fmt::format("{}: its bytes are not those of the index, {} times in a row",
                                describe(left.front().id), kSumAttempts));
  }

  std::string describe(ExampleId id) const override {
    const FileRange& range = range_of(id);
    const std::string url =
        fmt::format("{}/{}", spec_.reader->folder(), spec_.objects.name(range.file));
    return spec_.object_bytes.empty() ? url : fmt::format("{}, byte {}", url, range.offset);
  }

 private:
  const FileRange& range_of(ExampleId id) const {
    if (index(id) >= spec_.ranges.size()) {
      throw Error(fmt::format("example {} is not one of {}", index(id), spec_.ranges.size()));
    }
    return spec_.ranges[index(id)];
  }

  bool is_right(const PayloadWish& wish) const {
    return spec_.sums.empty() || payload_sum(wish.payload) == spec_.sums[index(wish.id)];
  }

  std::vector<MergedRead> merge(std::span<const PayloadWish> sorted) const {
    std::vector<MergedRead> merged;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const FileRange& range = range_of(sorted[i].id);
      const std::uint64_t end = range.offset + range.bytes;
      const bool joins = !merged.empty() && merged.back().object == range.file &&
                         range.offset <= merged.back().end + spec_.gap;
      if (!joins) merged.push_back({.start = range.offset, .object = range.file, .first = i});
      merged.back().end = std::max(merged.back().end, end);
      ++merged.back().count;
    }
    return merged;
  }

  std::uint64_t fetch(std::vector<PayloadWish>& wishes) const {
    std::sort(wishes.begin(), wishes.end(), [&](const PayloadWish& a, const PayloadWish& b) {
      const FileRange &x = range_of(a.id), &y = range_of(b.id);
      return std::pair(x.file, x.offset) < std::pair(y.file, y.offset);
    });
    std::vector<MergedRead> merged = merge(wishes);
    std::vector<ObjectRead> reads;
    for (MergedRead& one : merged) {
      if (one.count > 1) one.buffer.resize(one.end - one.start);
      reads.push_back(
          {.name = std::string(spec_.objects.name(one.object)),
           .offset = one.start,
           .into = one.count > 1 ? std::span(one.buffer) : wishes[one.first].payload,
           .object_bytes = spec_.object_bytes.empty() ? one.end : spec_.object_bytes[one.object]});
    }
    const std::uint64_t bytes = spec_.reader->read(reads);
    for (const MergedRead& one : merged) {
      for (std::size_t i = one.first; one.count > 1 && i < one.first + one.count; ++i) {
        const std::uint64_t at = range_of(wishes[i].id).offset - one.start;
        std::memcpy(wishes[i].payload.data(), one.buffer.data() + at, wishes[i].payload.size());
      }
    }
    return bytes;
  }

  RemoteRangesSpec spec_;
};

}  // namespace

std::uint32_t payload_sum(std::span<const std::byte> payload) {
  return static_cast<std::uint32_t>(XXH3_64bits(payload.data(), payload.size()));
}

std::shared_ptr<const PayloadSource> make_remote_range_source(RemoteRangesSpec spec) {
  return std::make_shared<RemoteRangeSource>(std::move(spec));
}

}  // namespace impart::data
