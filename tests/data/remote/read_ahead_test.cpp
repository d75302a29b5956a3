#include "impart/data/payloads/read_ahead.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

using namespace std::chrono_literals;

/// Payloads of 1000 bytes, each full of its example's number, that take a while to come.
class SlowSource final : public PayloadSource {
 public:
  static constexpr std::uint64_t kBytes = 1000;

  explicit SlowSource(std::uint64_t examples) : examples_(examples) {}

  std::uint64_t examples() const override { return examples_; }
  std::uint64_t payload_bytes(ExampleId) const override { return kBytes; }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    ++single_reads;
    return fill(id, payload);
  }
  std::uint64_t read_all(std::span<const PayloadWish> wishes) const override {
    if (fails_with_io) throw IoError("no server");
    if (is_damaged) throw DataError("damaged");
    std::this_thread::sleep_for(pause);
    ++groups;
    std::uint64_t bytes = gap_bytes;
    for (const PayloadWish& wish : wishes) bytes += fill(wish.id, wish.payload);
    return bytes;
  }
  bool is_remote() const override { return true; }
  std::string describe(ExampleId) const override { return "an example"; }

  std::vector<std::uint64_t> order() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }

  mutable std::atomic<int> single_reads = 0, groups = 0;
  std::chrono::milliseconds pause = 0ms;
  std::uint64_t gap_bytes = 0;
  bool fails_with_io = false, is_damaged = false;

 private:
  std::uint64_t fill(ExampleId id, std::span<std::byte> payload) const {
    std::fill(payload.begin(), payload.end(), static_cast<std::byte>(index(id) % 251));
    const std::lock_guard lock(mutex_);
    order_.push_back(index(id));
    return payload.size();
  }

  std::uint64_t examples_;
  mutable std::mutex mutex_;
  mutable std::vector<std::uint64_t> order_;
};

std::vector<ExampleId> numbers(std::uint64_t count, std::uint64_t first = 0) {
  std::vector<ExampleId> ids;
  for (std::uint64_t i = 0; i < count; ++i) ids.push_back(ExampleId{first + i});
  return ids;
}

/// Visits the examples as a store without a cache does; the bytes that were booked.
std::uint64_t visit(const PayloadSource& source, std::span<const ExampleId> ids) {
  std::vector<std::byte> payload(SlowSource::kBytes);
  std::uint64_t bytes = 0;
  for (const ExampleId id : ids) {
    bytes += source.read(id, payload);
    source.read_ahead()->end_visit(id);
    EXPECT_EQ(payload.front(), static_cast<std::byte>(index(id) % 251));
    EXPECT_EQ(payload.back(), static_cast<std::byte>(index(id) % 251));
  }
  return bytes;
}

/// Until so much is held or on its way.
void wait_for_bytes(const ReadAhead& ahead, std::uint64_t bytes) {
  for (int i = 0; i < 2000 && ahead.held_bytes() != bytes; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(ahead.held_bytes(), bytes);
}

TEST(ReadAhead, PlannedPayloadsComeInGroupsAndAreBookedOnce) {
  const auto slow = std::make_shared<SlowSource>(500);
  slow->pause = 2ms;
  const auto source = with_read_ahead(slow, {.bytes = 1 << 20});
  const auto ids = numbers(500);
  source->read_ahead()->plan(ids);
  EXPECT_EQ(visit(*source, ids), 500 * SlowSource::kBytes);
  EXPECT_EQ(slow->single_reads, 0);
  EXPECT_LT(slow->groups, 20);
  EXPECT_EQ(source->read_ahead()->held_bytes(), 0u);
}

TEST(ReadAhead, BytesOfGapsAreBookedToo) {
  const auto slow = std::make_shared<SlowSource>(100);
  slow->gap_bytes = 70;
  const auto source = with_read_ahead(slow, {});
  const auto ids = numbers(100);
  source->read_ahead()->plan(ids);
  const std::uint64_t bytes = visit(*source, ids);
  EXPECT_EQ(bytes, 100 * SlowSource::kBytes + 70 * static_cast<std::uint64_t>(slow->groups));
}

TEST(ReadAhead, HoldsNoMoreThanItsMemory) {
  const auto slow = std::make_shared<SlowSource>(5000);
  const auto source = with_read_ahead(slow, {.bytes = 1 << 20});
  const auto ids = numbers(5000);
  source->read_ahead()->plan(ids);
  std::uint64_t bytes = 0;
  for (int round = 0; round < 50; ++round) {
    std::this_thread::sleep_for(1ms);
    // A group may end a payload after the limit.
    EXPECT_LE(source->read_ahead()->held_bytes(), (1u << 20) + 3 * SlowSource::kBytes);
    bytes += visit(*source, std::span(ids).subspan(static_cast<std::size_t>(round) * 100, 100));
  }
  EXPECT_EQ(bytes, 5000 * SlowSource::kBytes);
}

TEST(ReadAhead, WhatIsNotPlannedIsReadFromTheSource) {
  const auto slow = std::make_shared<SlowSource>(10);
  const auto source = with_read_ahead(slow, {});
  EXPECT_EQ(visit(*source, numbers(10)), 10 * SlowSource::kBytes);
  EXPECT_EQ(slow->single_reads, 10);
}

TEST(ReadAhead, WhatTheStoreHasIsNotFetched) {
  const auto slow = std::make_shared<SlowSource>(100);
  const auto source = with_read_ahead(slow, {});
  const auto ids = numbers(100);
  source->read_ahead()->plan(ids, [](ExampleId id, bool) { return index(id) % 2 == 0; });
  wait_for_bytes(*source->read_ahead(), 50 * SlowSource::kBytes);
  for (const ExampleId id : ids) source->read_ahead()->end_visit(id);
  wait_for_bytes(*source->read_ahead(), 0);  // one on its way is let go when it has come
  EXPECT_EQ(slow->order().size(), 50u);
}

TEST(ReadAhead, ANewPlanKeepsWhatIsHeldAndStillNeeded) {
  const auto slow = std::make_shared<SlowSource>(100);
  const auto source = with_read_ahead(slow, {});
  source->read_ahead()->plan(numbers(60));
  wait_for_bytes(*source->read_ahead(), 60 * SlowSource::kBytes);
  source->read_ahead()->plan(numbers(60, 30));
  EXPECT_EQ(visit(*source, numbers(60, 30)), 90 * SlowSource::kBytes);
  EXPECT_EQ(slow->order().size(), 90u);
  EXPECT_EQ(source->read_ahead()->held_bytes(), 0u);
}

TEST(ReadAhead, TheNextEpochComesAfterThisOneAndIsThereWhenItBegins) {
  const auto slow = std::make_shared<SlowSource>(50);
  const auto source = with_read_ahead(slow, {});
  std::vector<ExampleId> next = numbers(50);
  std::reverse(next.begin(), next.end());
  source->read_ahead()->plan(numbers(50));
  source->read_ahead()->plan_more(next);
  EXPECT_EQ(visit(*source, numbers(50)), 50 * SlowSource::kBytes);
  wait_for_bytes(*source->read_ahead(), 50 * SlowSource::kBytes);
  source->read_ahead()->plan(next);
  EXPECT_EQ(visit(*source, next), 50 * SlowSource::kBytes);
  EXPECT_EQ(slow->single_reads, 0);
  EXPECT_EQ(slow->order().size(), 100u);
}

TEST(ReadAhead, WhatTheVisitBeforeWillLeaveInACacheIsNotFetchedTwice) {
  const auto slow = std::make_shared<SlowSource>(50);
  const auto source = with_read_ahead(slow, {});
  const auto ids = numbers(50);
  source->read_ahead()->plan(ids,
                             [](ExampleId id, bool again) { return !again || index(id) < 20; });
  source->read_ahead()->plan_more(ids);
  wait_for_bytes(*source->read_ahead(), 70 * SlowSource::kBytes);
  EXPECT_EQ(visit(*source, ids), 50 * SlowSource::kBytes);
  EXPECT_EQ(slow->order().size(), 70u);
}

TEST(ReadAhead, ManyThreadsGetTheirPayloadsInAnyOrder) {
  const auto slow = std::make_shared<SlowSource>(2000);
  const auto source = with_read_ahead(slow, {.bytes = 256 << 10});
  const auto ids = numbers(2000);
  source->read_ahead()->plan(ids);
  std::atomic<std::uint64_t> bytes = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 2000; i += 100) {
        const std::size_t from = (i + t * 25) % 2000;
        bytes += visit(*source, std::span(ids).subspan(from, 25));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slow->order().size() * SlowSource::kBytes, bytes.load());
  EXPECT_EQ(source->read_ahead()->held_bytes(), 0u);
}

TEST(ReadAhead, AServerThatIsGoneIsToldToWhoeverNeedsThePayload) {
  const auto slow = std::make_shared<SlowSource>(10);
  slow->fails_with_io = true;
  const auto source = with_read_ahead(slow, {});
  source->read_ahead()->plan(numbers(10));
  std::vector<std::byte> payload(SlowSource::kBytes);
  EXPECT_THROW(source->read(ExampleId{3}, payload), IoError);
}

TEST(ReadAhead, OfADamagedGroupEveryPayloadIsReadAlone) {
  const auto slow = std::make_shared<SlowSource>(10);
  slow->is_damaged = true;
  const auto source = with_read_ahead(slow, {});
  source->read_ahead()->plan(numbers(10));
  EXPECT_EQ(visit(*source, numbers(10)), 10 * SlowSource::kBytes);
  EXPECT_EQ(slow->single_reads, 10);
  EXPECT_EQ(source->read_ahead()->held_bytes(), 0u);
}

}  // namespace
}  // namespace impart::data
