// Reading MDS shards in order and at random, against reading the same files as fast as read() can.
//
//   build/release/bin/mds_bench [FOLDER [MEBIBYTES]]
//
// Writes shards of MEBIBYTES (512) into FOLDER (a new one in the temporary folder) and removes them
// at the end. Samples have 3 to 20 KB. The page cache is warm, so what is measured is the work on
// top of the disk. Both ways take turns; ratios are of the medians. What was read is checked by
// hash before anything is timed.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "bench/check.h"
#include "impart/core/file.h"
#include "impart/core/random.h"
#include "impart/data/mds/source.h"
#include "impart/data/mds/writer.h"

namespace {

using impart::bench::require;
using impart::bench::seconds_of;

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr int kRounds = 21;

/// Samples of random bytes and lengths; the hash is over all samples, one after the other.
std::uint64_t write_shards(const std::string& folder, std::uint64_t bytes) {
  impart::RandomStream random({.seed = 1, .purpose = impart::Purpose("bench")});
  std::vector<std::uint32_t> noise(1u << 20);
  for (std::uint32_t& word : noise) word = random.next32();
  const auto pool = std::as_bytes(std::span(noise));
  const std::vector columns = {impart::data::make_mds_column("image", "bytes"),
                               impart::data::make_mds_column("label", "int")};
  impart::data::MdsWriter writer(folder, {.columns = columns, .hashes = {"xxh64"}});
  XXH3_state_t* hash = XXH3_createState();
  XXH3_64bits_reset(hash);
  for (std::uint64_t written = 0; written < bytes;) {
    const auto image = pool.subspan(random.below(pool.size() / 2), 3072 + random.below(17000));
    const std::int64_t label = static_cast<std::int64_t>(random.below(1000));
    const std::vector values = {image, std::as_bytes(std::span(&label, 1))};
    const std::vector<std::byte> sample = impart::data::join_mds_values(columns, values);
    writer.add_sample(sample);
    XXH3_64bits_update(hash, sample.data(), sample.size());
    written += sample.size();
  }
  writer.finish();
  const std::uint64_t digest = XXH3_64bits_digest(hash);
  XXH3_freeState(hash);
  return digest;
}

std::uint64_t hash_in_order(const impart::data::MdsSource& source) {
  XXH3_state_t* hash = XXH3_createState();
  XXH3_64bits_reset(hash);
  source.read_in_order([&](impart::ExampleId, std::span<const std::byte> sample) {
    XXH3_64bits_update(hash, sample.data(), sample.size());
  });
  const std::uint64_t digest = XXH3_64bits_digest(hash);
  XXH3_freeState(hash);
  return digest;
}

/// What dd bs=1M does with the shards.
std::uint64_t read_plainly(const impart::data::MdsIndex& index, std::span<std::byte> block) {
  std::uint64_t bytes = 0;
  for (const impart::data::MdsShard& shard : index.shards) {
    const int file = ::open((index.folder + '/' + shard.raw.name).c_str(), O_RDONLY);
    require(file >= 0, "a shard is there");
    for (ssize_t got = 1; got > 0; bytes += static_cast<std::uint64_t>(got)) {
      got = ::read(file, block.data(), block.size());
      require(got >= 0, "a shard can be read");
    }
    ::close(file);
  }
  return bytes;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void compare_in_order(const impart::data::MdsSource& source) {
  // At a page, as dd's: elsewhere the kernel copies at half the speed.
  alignas(4096) static std::byte block[kBlock];
  std::vector<double> plain, ours;
  std::uint64_t file_bytes = 0, sample_bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    plain.push_back(seconds_of([&] { file_bytes = read_plainly(source.index(), block); }));
    sample_bytes = 0;
    ours.push_back(seconds_of([&] {
      source.read_in_order([&](impart::ExampleId, std::span<const std::byte> sample) {
        sample_bytes += sample.size();
      });
    }));
  }
  const double gigabytes = static_cast<double>(file_bytes) / 1e9;
  fmt::print(
      "in order: {} samples, {:.3f} GB: {:.2f} GB/s; read() in 1 MiB blocks: {:.2f} GB/s; "
      "ratio {:.3f} (of the best rounds {:.3f})\n",
      source.examples(), static_cast<double>(sample_bytes) / 1e9, gigabytes / median(ours),
      gigabytes / median(plain), median(plain) / median(ours),
      *std::min_element(plain.begin(), plain.end()) / *std::min_element(ours.begin(), ours.end()));
}

/// Where every sample lies, with its shard open.
struct Range {
  int file;
  off_t offset;
  std::size_t bytes;
};

std::vector<Range> find_ranges(const impart::data::MdsIndex& index) {
  std::vector<Range> ranges;
  for (std::size_t shard = 0; shard < index.shards.size(); ++shard) {
    const std::string path = index.folder + '/' + index.shards[shard].raw.name;
    const int file = ::open(path.c_str(), O_RDONLY);  // until the program ends
    const impart::InputFile contents(path);
    const auto offsets = impart::data::check_mds_offsets(contents.bytes(), index, shard);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      ranges.push_back({file, offsets[i], offsets[i + 1] - offsets[i]});
    }
  }
  return ranges;
}

/// Every sample once, in random order, against the bare pread of the same bytes.
void compare_at_random(const impart::data::MdsSource& source) {
  std::vector<std::uint64_t> order(source.examples());
  std::iota(order.begin(), order.end(), 0);
  impart::RandomStream random({.seed = 2, .purpose = impart::Purpose("bench")});
  impart::shuffle(std::span(order), random);
  const std::vector<Range> ranges = find_ranges(source.index());
  std::vector<std::byte> payload(kBlock), expected(kBlock);
  std::vector<double> plain, ours;
  for (int round = 0; round < kRounds; ++round) {
    plain.push_back(seconds_of([&] {
      for (const std::uint64_t i : order) {
        const Range& range = ranges[i];
        require(::pread(range.file, expected.data(), range.bytes, range.offset) > 0, "pread");
      }
    }));
    ours.push_back(seconds_of([&] {
      for (const std::uint64_t i : order) {
        const std::uint64_t bytes = source.payload_bytes(impart::ExampleId{i});
        source.read(impart::ExampleId{i}, std::span(payload).first(bytes));
      }
    }));
    const std::size_t last = ranges[order.back()].bytes;
    require(std::equal(payload.begin(), payload.begin() + last, expected.begin()), "the last one");
  }
  const double count = static_cast<double>(order.size());
  fmt::print("at random: {:.0f} ns per sample; pread alone: {:.0f} ns; ratio {:.3f}\n",
             1e9 * median(ours) / count, 1e9 * median(plain) / count, median(plain) / median(ours));
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = argc > 1 ? argv[1] : "/tmp/impart-mds-bench-XXXXXX";
  if (argc > 1) {
    require(std::filesystem::create_directory(folder), "the folder is new");
  } else {
    require(::mkdtemp(folder.data()) != nullptr, "a folder can be made");
  }
  const std::uint64_t mebibytes = argc > 2 ? std::stoull(argv[2]) : 512;
  const std::uint64_t hash = write_shards(folder, mebibytes << 20);
  {
    const impart::data::MdsSource source({.folder = folder});
    require(hash_in_order(source) == hash, "all samples, in order");
    compare_in_order(source);
    compare_at_random(source);
  }
  std::filesystem::remove_all(folder);
}
