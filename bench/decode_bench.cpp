// What photos cost to decode, and what the batch reader adds to reading and decoding.
//
//   build/release/bin/decode_bench FOLDER      an image folder (train/CLASS/*.jpg, val/CLASS/*.jpg)
//   build/release/bin/decode_bench             only the second part
//
// First part: all photos of train/ decoded in a plain loop, by a reader on the calling thread, and
// by a reader with 1 and 2 threads. Second part: images of 3072 bytes that are already decoded, and
// in memory, through the reader beside a loop that copies them twice, as the reader must: source to
// payload, payload to batch. Rounds of all variants take turns; the median counts. Answers are
// checked before anything is timed. bench/decode_against_pillow.py compares with Pillow.

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/check.h"
#include "impart/data/datasets.h"
#include "impart/data/payloads/batch_reader.h"
#include "impart/data/payloads/memory_payloads.h"

namespace {

using impart::ExampleId;
using impart::WorkerId;
using impart::data::BatchList;
using impart::data::BatchReader;
using impart::data::BatchRow;
using impart::data::ExampleSet;

constexpr int kRounds = 7;

struct Variant {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

/// Runs the variants in turn and prints the median of each, and its ratio to the first.
void compare(std::vector<Variant> variants, double images) {
  for (int round = 0; round < kRounds; ++round) {
    for (Variant& variant : variants) {
      variant.seconds.push_back(impart::bench::seconds_of(variant.run));
    }
  }
  double baseline = 0;
  for (Variant& variant : variants) {
    std::nth_element(variant.seconds.begin(), variant.seconds.begin() + kRounds / 2,
                     variant.seconds.end());
    const double median = variant.seconds[kRounds / 2];
    if (baseline == 0) baseline = median;
    fmt::print("  {:<28} {:12.1f} images/s {:12.0f} ns an image {:8.2f} times the first\n",
               variant.name, images / median, 1e9 * median / images, median / baseline);
  }
}

void read_payload(const ExampleSet& set, ExampleId id, std::vector<std::byte>& payload) {
  payload.resize(set.payloads->payload_bytes(id));
  set.payloads->read(id, payload);
}

/// Takes every image of the set, batch by batch.
using Visit = std::function<void(std::span<const std::uint8_t>)>;

void loop_plainly(const ExampleSet& set, bool random, const Visit& visit) {
  std::vector<std::byte> payload;
  std::vector<std::uint8_t> image(set.image_bytes());
  for (std::uint64_t i = 0; i < set.count(); ++i) {
    read_payload(set, ExampleId{i}, payload);
    set.decoder->decode(
        payload,
        random ? impart::data::decode_choices(1, 0, ExampleId{i}) : impart::data::DecodeChoices{},
        image);
    visit(image);
  }
}

void loop_with_reader(const ExampleSet& set, bool random, std::uint32_t threads, std::size_t rows,
                      const Visit& visit) {
  BatchReader reader({.decoder = set.decoder.get(),
                      .row_bytes = set.image_bytes(),
                      .threads = threads,
                      .read = [&](ExampleId id, WorkerId, std::vector<std::byte>& payload) {
                        read_payload(set, id, payload);
                      }});
  BatchList list{.random_decode = random, .seed = 1};
  for (std::uint64_t i = 0; i < set.count(); ++i) list.rows.push_back(BatchRow{.id = ExampleId{i}});
  for (std::size_t end = 0; end < set.count();) {
    list.ends.push_back(end = std::min<std::size_t>(end + rows, set.count()));
  }
  const std::size_t batches = list.ends.size();
  reader.begin(std::move(list));
  for (std::size_t b = 0; b < batches; ++b) visit(reader.next().decoded);
}

void ignore(std::span<const std::uint8_t>) {}

void compare_loops(const ExampleSet& set, bool random, std::size_t rows) {
  std::vector<std::uint8_t> expected, found;
  loop_plainly(set, random,
               [&](auto image) { expected.insert(expected.end(), image.begin(), image.end()); });
  for (const std::uint32_t threads : {0u, 1u, 2u}) {
    found.clear();
    loop_with_reader(set, random, threads, rows,
                     [&](auto batch) { found.insert(found.end(), batch.begin(), batch.end()); });
    impart::bench::require(found == expected, "images of the reader");
  }
  std::vector<Variant> variants{{"plain loop", [&] { loop_plainly(set, random, ignore); }}};
  for (const std::uint32_t threads : {0u, 1u, 2u}) {
    variants.push_back({fmt::format("reader, {} threads", threads),
                        [&, threads] { loop_with_reader(set, random, threads, rows, ignore); }});
  }
  compare(std::move(variants), static_cast<double>(set.count()));
}

/// The same images as loop_with_reader, copied by hand.
void compare_with_copies() {
  constexpr std::uint64_t kImages = 100'000;
  constexpr std::size_t kBatch = 512;
  impart::data::ImageSet images{.count = kImages, .channels = 3, .height = 32, .width = 32};
  images.pixels.resize(kImages * images.image_bytes());
  for (std::size_t i = 0; i < images.pixels.size(); ++i) {
    images.pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  }
  images.labels.resize(kImages);
  const std::uint64_t bytes = images.image_bytes();
  const std::vector<std::uint8_t> source = images.pixels;
  const ExampleSet set = impart::data::view_in_memory(std::move(images), "memory");
  std::vector<std::uint8_t> copy;
  loop_with_reader(set, false, 2, kBatch,
                   [&](auto batch) { copy.insert(copy.end(), batch.begin(), batch.end()); });
  impart::bench::require(copy == source, "copied images");

  std::vector<std::uint8_t> payload(bytes), batch(kBatch * bytes);
  std::vector<Variant> variants{{"two copies in a loop", [&] {
                                   for (std::uint64_t i = 0; i < kImages; ++i) {
                                     std::memcpy(payload.data(), source.data() + i * bytes, bytes);
                                     asm volatile("" : : "r"(payload.data()) : "memory");
                                     std::memcpy(batch.data() + i % kBatch * bytes, payload.data(),
                                                 bytes);
                                     asm volatile("" : : "r"(batch.data()) : "memory");
                                   }
                                 }}};
  for (const std::uint32_t threads : {0u, 1u, 2u}) {
    variants.push_back({fmt::format("reader, {} threads", threads),
                        [&, threads] { loop_with_reader(set, false, threads, kBatch, ignore); }});
  }
  compare(std::move(variants), static_cast<double>(kImages));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const ExampleSet set = impart::data::open_data({.name = "imagefolder", .root = argv[1]}).train;
    fmt::print("{} photos to {}x{}, for evaluation:\n", set.count(), set.height, set.width);
    compare_loops(set, false, 16);
    fmt::print("{} photos to {}x{}, for training:\n", set.count(), set.height, set.width);
    compare_loops(set, true, 16);
  }
  fmt::print("images of 3072 bytes in memory:\n");
  compare_with_copies();
}
