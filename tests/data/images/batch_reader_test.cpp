#include "impart/data/payloads/batch_reader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using namespace std::chrono_literals;
using testing::message_of;

constexpr std::uint64_t kImageBytes = 4;

/// A payload is a number; the image is the number's low byte and three of the choices' bytes. Odd
/// hundreds are damaged.
class NumberDecoder final : public PayloadDecoder {
 public:
  void decode(std::span<const std::byte> payload, const DecodeChoices& choices,
              std::span<std::uint8_t> pixels) const override {
    std::uint64_t number = 0;
    std::memcpy(&number, payload.data(), sizeof number);
    if (number / 100 % 2 == 1) throw DataError(fmt::format("number {} is damaged", number));
    pixels[0] = static_cast<std::uint8_t>(number);
    for (std::size_t k = 1; k < 4; ++k) {
      pixels[k] = static_cast<std::uint8_t>(choices.random ? choices.words[k] : 7);
    }
  }
};

void read_number(ExampleId id, WorkerId, std::vector<std::byte>& payload) {
  const std::uint64_t number = index(id);
  payload.resize(sizeof number);
  std::memcpy(payload.data(), &number, sizeof number);
}

const NumberDecoder kDecoder;

BatchReaderSpec spec_with(std::uint32_t threads) {
  return {.decoder = &kDecoder, .row_bytes = kImageBytes, .threads = threads, .read = read_number};
}

/// Rows of examples 0, 1, …, below 100, taking turns among three workers.
BatchList list_of(const std::vector<std::size_t>& sizes) {
  BatchList list;
  for (const std::size_t size : sizes) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t k = list.rows.size();
      list.rows.push_back({ExampleId{k % 100}, WorkerId{static_cast<std::uint32_t>(k % 3)}});
    }
    list.ends.push_back(list.rows.size());
  }
  return list;
}

BatchList one_batch(const std::vector<BatchRow>& rows) {
  return {.rows = rows, .ends = {rows.size()}};
}

std::vector<std::uint8_t> all_pixels(BatchReader& reader, BatchList list) {
  const std::size_t batches = list.ends.size();
  std::vector<std::uint8_t> pixels;
  reader.begin(std::move(list));
  for (std::size_t b = 0; b < batches; ++b) {
    const ReadBatch batch = reader.next();
    EXPECT_EQ(batch.decoded.size(), batch.rows.size() * kImageBytes);
    pixels.insert(pixels.end(), batch.decoded.begin(), batch.decoded.end());
  }
  return pixels;
}

class BatchReaderWith : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, BatchReaderWith, ::testing::Values(0, 1, 2, 5));

TEST_P(BatchReaderWith, GivesBatchesInOrder) {
  BatchReader reader(spec_with(GetParam()));
  const BatchList list = list_of({5, 0, 64, 1, 300, 300, 17, 0});
  for (int epoch = 0; epoch < 3; ++epoch) {
    reader.begin(list);
    std::size_t row = 0;
    for (const std::size_t end : list.ends) {
      const ReadBatch batch = reader.next();
      ASSERT_EQ(batch.rows.size(), end - row);
      ASSERT_EQ(batch.valid.size(), batch.rows.size());
      for (std::size_t i = 0; i < batch.rows.size(); ++i, ++row) {
        ASSERT_EQ(batch.rows[i], list.rows[row]);
        ASSERT_EQ(batch.decoded[i * kImageBytes], index(list.rows[row].id));
        ASSERT_EQ(batch.decoded[i * kImageBytes + 1], 7);
        ASSERT_EQ(batch.valid[i], 1);
      }
      EXPECT_TRUE(batch.skipped.empty());
    }
    EXPECT_THROW(reader.next(), Error);
  }
}

TEST_P(BatchReaderWith, DecodesWithTheChoicesOfEachExample) {
  BatchReader reader(spec_with(GetParam()));
  BatchList list = list_of({70, 70});
  list.random_decode = true;
  list.seed = 5;
  list.epoch = 3;
  const std::vector<BatchRow> rows = list.rows;
  const std::vector<std::uint8_t> pixels = all_pixels(reader, std::move(list));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DecodeChoices choices = decode_choices(5, 3, rows[i].id);
    ASSERT_EQ(pixels[i * kImageBytes + 2], static_cast<std::uint8_t>(choices.words[2]));
  }
}

TEST_P(BatchReaderWith, WaitsForRowsThatAreNotReadyAndGoesOnWithOthers) {
  // The first ten examples arrive one by one, the last first, each after the pump was called.
  std::atomic<std::uint64_t> first_ready = 10;
  std::atomic<std::uint64_t> too_early = 0, read_meanwhile = 0;
  BatchReaderSpec spec = spec_with(GetParam());
  spec.ready = [&](ExampleId id, WorkerId) { return index(id) >= first_ready; };
  spec.read = [&](ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
    if (index(id) < first_ready) ++too_early;
    if (first_ready == 10) ++read_meanwhile;
    read_number(id, worker, payload);
  };
  BatchReader reader(spec);
  reader.begin(list_of({30, 30}));
  const ReadBatch batch = reader.next([&] {
    if (read_meanwhile >= 20 && first_ready > 0) --first_ready;
  });
  EXPECT_EQ(first_ready, 0u);
  EXPECT_EQ(too_early, 0u);
  EXPECT_GE(batch.seconds_waited, 0.0005);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(batch.decoded[i * kImageBytes], i);
  EXPECT_EQ(reader.next().decoded[0], 30);
}

TEST_P(BatchReaderWith, SkipsBadExamples) {
  BatchReaderSpec spec = spec_with(GetParam());
  spec.on_bad_example = OnBadExample::kSkip;
  spec.describe = [](ExampleId id) { return fmt::format("file {}", index(id)); };
  BatchReader reader(spec);
  const WorkerId a{0}, b{1}, c{2};
  reader.begin(one_batch({{ExampleId{101}, a},
                          {ExampleId{1}, b},
                          {ExampleId{2}, a},
                          {ExampleId{3}, a},
                          {ExampleId{4}, b},
                          {ExampleId{102}, a},
                          {ExampleId{103}, a},
                          {ExampleId{104}, c}}));
  const ReadBatch batch = reader.next();
  const auto shade = [&](std::size_t row) { return batch.decoded[row * kImageBytes]; };
  EXPECT_EQ(std::vector(batch.valid.begin(), batch.valid.end()),
            (std::vector<std::uint8_t>{0, 1, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(shade(0), 2) << "a later row of the same worker";
  EXPECT_EQ(shade(5), 3) << "the nearest earlier row of the same worker";
  EXPECT_EQ(shade(6), 3) << "a good one, not the copy beside it, but they are equal";
  EXPECT_EQ(shade(7), 0) << "nothing to copy";
  ASSERT_EQ(batch.skipped.size(), 4u);
  EXPECT_EQ(batch.skipped[0].id, ExampleId{101});
  EXPECT_EQ(batch.skipped[3].reason, "file 104: number 104 is damaged");
}

TEST_P(BatchReaderWith, FailsWithTheFirstBadExample) {
  BatchReaderSpec spec = spec_with(GetParam());
  spec.describe = [](ExampleId id) { return fmt::format("file {}", index(id)); };
  BatchReader reader(spec);
  BatchList list = list_of({40, 40, 40});
  list.rows[60].id = ExampleId{160};
  list.rows[77].id = ExampleId{177};
  reader.begin(list);
  reader.next();
  EXPECT_EQ(message_of<DataError>([&] { reader.next(); }), "file 160: number 160 is damaged");
  EXPECT_THROW(reader.next(), Error);
  EXPECT_EQ(all_pixels(reader, list_of({2, 2})).size(), 4 * kImageBytes) << "it goes on";
}

TEST_P(BatchReaderWith, NamesAnExampleOnce) {
  BatchReaderSpec spec = spec_with(GetParam());
  spec.describe = [](ExampleId) { return "file a"; };
  spec.read = [](ExampleId, WorkerId, std::vector<std::byte>&) {
    throw DataError("file a: byte 3: the file has ended");
  };
  BatchReader reader(spec);
  reader.begin(list_of({2}));
  EXPECT_EQ(message_of<DataError>([&] { reader.next(); }), "file a: byte 3: the file has ended");
}

TEST_P(BatchReaderWith, ThrowsWhatIsNoBadExampleEvenIfItSkips) {
  BatchReaderSpec spec = spec_with(GetParam());
  spec.on_bad_example = OnBadExample::kSkip;
  spec.read = [](ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
    if (index(id) == 3) throw PeerError("process 2 was lost");
    if (index(id) == 4) throw 4;
    read_number(id, worker, payload);
  };
  BatchReader reader(spec);
  reader.begin(list_of({10}));
  EXPECT_EQ(message_of<PeerError>([&] { reader.next(); }), "process 2 was lost");
  reader.begin(one_batch({{ExampleId{4}, WorkerId{0}}}));
  EXPECT_THROW(reader.next(), int);
}

TEST_P(BatchReaderWith, ReportsWhatReadyThrows) {
  BatchReaderSpec spec = spec_with(GetParam());
  std::atomic<int> asked = 0;
  spec.ready = [&](ExampleId, WorkerId) -> bool {
    if (++asked < 5) return false;
    throw PeerError("process 2 was lost");
  };
  BatchReader reader(spec);
  reader.begin(list_of({1}));
  EXPECT_THROW(reader.next(), PeerError);
}

TEST_P(BatchReaderWith, SurvivesWhatThePumpThrows) {
  BatchReaderSpec spec = spec_with(GetParam());
  std::atomic<bool> is_ready = false;
  spec.ready = [&](ExampleId, WorkerId) { return is_ready.load(); };
  BatchReader reader(spec);
  reader.begin(list_of({3, 3}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(reader.next([] { throw PeerError("lost"); }), PeerError);
  }
  EXPECT_EQ(reader.next([&] { is_ready = true; }).decoded[0], 0);
  EXPECT_EQ(reader.next().decoded[0], 3);
}

TEST_P(BatchReaderWith, DecodesIntoTheCallersBuffers) {
  BatchReaderSpec spec = spec_with(GetParam());
  std::vector<std::vector<std::uint8_t>> buffers;
  int asked = 0;
  spec.room = [&](std::size_t count, std::size_t bytes) {
    ++asked;
    buffers.assign(count, std::vector<std::uint8_t>(bytes));
    return std::vector<std::span<std::uint8_t>>(buffers.begin(), buffers.end());
  };
  BatchReader reader(spec);
  for (const std::size_t most : {8u, 6u, 9u}) {
    reader.begin(list_of({most, most, 5, most}));
    for (std::size_t b = 0; b < 4; ++b) {
      EXPECT_EQ(reader.next().decoded.data(), buffers[b % buffers.size()].data());
    }
  }
  EXPECT_EQ(buffers.size(), GetParam() == 0 ? 1u : 3u);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(buffers.front().size(), 9 * kImageBytes);
}

TEST_P(BatchReaderWith, RefusesOtherBuffersThanItAskedFor) {
  BatchReaderSpec spec = spec_with(GetParam());
  std::vector<std::uint8_t> memory(100 * kImageBytes);
  spec.room = [&](std::size_t count, std::size_t bytes) {
    return std::vector(count, std::span(memory).first(bytes - 1));
  };
  EXPECT_THROW(BatchReader(spec).begin(list_of({8})), Error);
  spec.room = [&](std::size_t count, std::size_t bytes) {
    return std::vector(count + 1, std::span(memory).first(bytes));
  };
  EXPECT_THROW(BatchReader(spec).begin(list_of({8})), Error);
}

TEST_P(BatchReaderWith, HoldsNoMoreThanItMay) {
  constexpr std::size_t kBatch = 100;
  constexpr std::uint32_t kAhead = 3;
  std::atomic<std::uint64_t> begun = 0;
  BatchReaderSpec spec = spec_with(GetParam());
  spec.batches_ahead = kAhead;
  spec.read = [&](ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
    ++begun;
    payload.reserve(1000);
    read_number(id, worker, payload);
  };
  BatchReader reader(spec);
  reader.begin(list_of(std::vector<std::size_t>(20, kBatch)));
  const std::uint64_t slots = GetParam() == 0 ? 1 : kAhead + 1;
  for (std::uint64_t taken = 1; taken <= 20; ++taken) {
    reader.next();
    const std::uint64_t most = std::min<std::uint64_t>(20, taken + slots - 1) * kBatch;
    // A reader that may not go on has time to do so here.
    for (int i = 0; i < 20 && GetParam() > 0 && begun < most; ++i) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(1ms);
    ASSERT_LE(begun, most);
  }
  EXPECT_LE(reader.memory_bytes(),
            slots * kBatch * kImageBytes + std::max(1u, GetParam()) * std::uint64_t{1000});
  EXPECT_GE(reader.memory_bytes(), slots * kBatch * kImageBytes + 1000);
}

TEST(BatchReader, ReadsAheadWhileTheCallerIsBusy) {
  std::atomic<std::uint64_t> begun = 0;
  BatchReaderSpec spec = spec_with(2);
  spec.read = [&](ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
    ++begun;
    read_number(id, worker, payload);
  };
  BatchReader reader(spec);
  reader.begin(list_of({10, 10, 10, 10, 10}));
  for (int i = 0; i < 2000 && begun < 30; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(begun, 30u);
}

TEST(BatchReader, IsAbandonedInTheMiddleWithoutFinishing) {
  std::atomic<std::uint64_t> begun = 0;
  BatchReaderSpec spec = spec_with(2);
  spec.batches_ahead = 4;
  spec.read = [&](ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
    ++begun;
    std::this_thread::sleep_for(5ms);
    read_number(id, worker, payload);
  };
  {
    BatchReader reader(spec);
    reader.begin(list_of({4, 1000, 1000, 1000}));
    reader.next();
    reader.abandon();
    EXPECT_THROW(reader.next(), Error);
    const std::uint64_t before = begun;
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(begun, before) << "abandoned rows are not read";
    EXPECT_EQ(all_pixels(reader, list_of({3}))[2 * kImageBytes], 2);
    reader.begin(list_of({1000, 1000}));
    std::this_thread::sleep_for(12ms);
  }
  EXPECT_LT(begun, 300u) << "destruction does not wait for all rows";
}

TEST(BatchReader, CanBeDestroyedWhileRowsAreNotReady) {
  std::atomic<std::uint64_t> asked = 0, read = 0;
  BatchReaderSpec spec = spec_with(2);
  spec.ready = [&](ExampleId, WorkerId) {
    ++asked;
    return false;
  };
  spec.read = [&](ExampleId, WorkerId, std::vector<std::byte>&) { ++read; };
  auto reader = std::make_unique<BatchReader>(spec);
  reader->begin(list_of({10, 10}));
  for (int i = 0; i < 5000 && asked < 40; ++i) std::this_thread::sleep_for(1ms);
  ASSERT_GE(asked, 40u) << "rows that are not ready are looked at again";
  const auto start = std::chrono::steady_clock::now();
  reader.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s) << "waits for rows that never come";
  const std::uint64_t before = asked;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(asked, before) << "a thread outlives its reader";
  EXPECT_EQ(read, 0u);
}

TEST(BatchReader, ReadsOnSeveralThreadsAtATime) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  BatchReaderSpec spec = spec_with(3);
  spec.row_bytes = 1 << 16;  // a portion is one row
  spec.read = [&](ExampleId id, WorkerId worker, std::vector<std::byte>& payload) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(2ms);
    read_number(id, worker, payload);
  };
  BatchReader reader(spec);
  reader.begin(list_of({30}));
  reader.next();
  EXPECT_EQ(threads.size(), 3u);
}

TEST(BatchReader, RefusesWhatCannotBe) {
  EXPECT_THROW(BatchReader({.row_bytes = 1, .read = read_number}), Error);
  EXPECT_THROW(BatchReader({.decoder = &kDecoder, .row_bytes = 1, .read = {}}), Error);
  BatchReader reader(spec_with(1));
  EXPECT_THROW(reader.next(), Error);
  EXPECT_THROW(reader.begin({.rows = {}, .ends = {1}}), Error);
  EXPECT_THROW(reader.begin({.rows = {{}, {}}, .ends = {2, 1}}), Error);
}

}  // namespace
}  // namespace impart::data
