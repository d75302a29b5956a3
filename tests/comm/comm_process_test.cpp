// Checks every collective against what one process computes by itself. Run it with several sizes:
//
//   mpirun -n {1,2,4,7} comm_process_test [small-chunks]
//
// Every process makes everybody's input, so that it knows what must come out.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/comm/exact_sum.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/placement/hosted_workers.h"

namespace impart::comm {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) throw Error(fmt::format("wrong: {}", what));
}

RandomStream stream(std::uint32_t epoch, std::uint32_t worker) {
  return RandomStream({.seed = 7,
                       .purpose = Purpose("comm-process-test"),
                       .epoch = epoch,
                       .worker = WorkerId{worker}});
}

/// Small integers, so that sums are exact in every type and every order.
template <class T>
std::vector<T> input_of(std::uint32_t rank, std::size_t length) {
  RandomStream random = stream(0, rank);
  std::vector<T> values(length);
  for (T& value : values) value = static_cast<T>(random.below(2'001)) - 1'000;
  return values;
}

template <class T, class Operation>
std::vector<T> combined(std::uint32_t size, std::size_t length, Operation operation) {
  std::vector<T> result = input_of<T>(0, length);
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    const std::vector<T> other = input_of<T>(rank, length);
    std::transform(result.begin(), result.end(), other.begin(), result.begin(), operation);
  }
  return result;
}

template <class T>
void check_reductions(Communicator& communicator, std::string_view type) {
  for (const std::size_t length : {0, 1, 2, 1'000, 4'097}) {
    std::vector<T> sum = input_of<T>(communicator.rank(), length);
    std::vector<T> largest = sum;
    communicator.all_reduce_sum(sum);
    communicator.all_reduce_max(largest);
    const auto add = [](T a, T b) { return a + b; };
    const auto max = [](T a, T b) { return std::max(a, b); };
    const std::uint32_t size = communicator.size();
    require(sum == combined<T>(size, length, add), fmt::format("sum of {} {}", length, type));
    require(largest == combined<T>(size, length, max), fmt::format("max of {} {}", length, type));
  }
}

/// Two under way at once; one is tested, the other waited for in the opposite order.
void check_pending(Communicator& communicator) {
  std::vector<float> first = input_of<float>(communicator.rank(), 5'000);
  std::vector<float> second = input_of<float>(communicator.rank(), 3'000);
  const auto pending_first = communicator.start_all_reduce_sum(first);
  const auto pending_second = communicator.start_all_reduce_sum(second);
  std::vector<double> between = {1.0};
  communicator.all_reduce_sum(between);
  pending_second->wait();
  while (!pending_first->test()) continue;
  require(pending_first->test(), "a finished all-reduce stays finished");
  pending_first->wait();
  const std::uint32_t size = communicator.size();
  require(first == combined<float>(size, 5'000, std::plus<float>()), "first pending sum");
  require(second == combined<float>(size, 3'000, std::plus<float>()), "second pending sum");
  require(between[0] == size, "a sum while others are under way");

  std::vector<float> dropped = input_of<float>(communicator.rank(), 5'000);
  communicator.start_all_reduce_sum(dropped).reset();
  require(dropped == first, "a dropped all-reduce completes");
}

void check_broadcast(Communicator& communicator) {
  for (std::uint32_t root = 0; root < communicator.size(); ++root) {
    const std::vector<float> expected = input_of<float>(root, 2'500);
    std::vector<float> values = input_of<float>(communicator.rank(), 2'500);
    communicator.broadcast(std::as_writable_bytes(std::span(values)), root);
    require(values == expected, fmt::format("broadcast from {}", root));
  }
}

/// Every third process contributes nothing.
void check_gather(Communicator& communicator) {
  std::vector<std::size_t> counts(communicator.size());
  std::vector<float> expected;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    counts[rank] = rank % 3 == 1 ? 0 : 1'000 + 7 * rank;
    const std::vector<float> part = input_of<float>(rank, counts[rank]);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  const std::vector<float> mine = input_of<float>(communicator.rank(), counts[communicator.rank()]);
  std::vector<float> all(expected.size());
  communicator.all_gather(mine, counts, all);
  require(all == expected, "all-gather of floats");

  for (std::size_t& count : counts) count *= sizeof(float);
  std::vector<float> bytes(expected.size());
  communicator.all_gather(std::as_bytes(std::span(mine)), counts,
                          std::as_writable_bytes(std::span(bytes)));
  require(bytes == expected, "all-gather of bytes");
}

/// Very different magnitudes; `special` adds infinities and NaNs.
std::vector<float> contribution(std::uint32_t worker, std::size_t length, bool special) {
  RandomStream random = stream(1, worker);
  std::vector<float> values(length);
  for (float& value : values) {
    value = static_cast<float>(random.normal() * std::exp(3 * random.normal()));
    if (!special || random.below(1'000) != 0) continue;
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float choices[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()};
    value = choices[random.below(3)];
  }
  return values;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

/// Distribution 0 hosts workers as training does; the others throw them anywhere, so that some
/// processes have none.
void check_exact(Communicator& communicator, std::size_t length, bool special) {
  constexpr std::uint32_t kWorkers = 11;
  std::vector<std::vector<float>> rows;
  for (std::uint32_t w = 0; w < kWorkers; ++w) rows.push_back(contribution(w, length, special));
  const std::vector<std::span<const float>> everything(rows.begin(), rows.end());
  std::vector<float> expected(length);
  exact_all_reduce_sum(*make_single_communicator(), everything, expected);

  for (std::uint32_t distribution = 0; distribution < 4; ++distribution) {
    RandomStream random = stream(2, distribution);
    std::vector<std::span<const float>> mine;
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      const auto drawn = static_cast<std::uint32_t>(random.below(communicator.size()));
      const std::uint32_t hosted =
          placement::hosting_process(WorkerId{w}, kWorkers, communicator.size());
      if ((distribution == 0 ? hosted : drawn) == communicator.rank()) mine.push_back(rows[w]);
    }
    std::vector<float> sum(length);
    exact_all_reduce_sum(communicator, mine, sum);
    require(same_bits(sum, expected), fmt::format("exact sum, distribution {}", distribution));
  }
}

void check_traffic(Communicator& communicator) {
  const Traffic before = communicator.traffic();
  std::vector<float> values(1'000), all(std::size_t{10} * communicator.size());
  const std::vector<std::size_t> counts(communicator.size(), 10);
  communicator.all_reduce_sum(values);
  communicator.start_all_reduce_sum(values)->wait();
  communicator.broadcast(std::as_writable_bytes(std::span(values)), 0);
  communicator.all_gather(std::span<const float>(values).first(10), counts, all);
  communicator.barrier();
  const std::uint64_t others = communicator.size() - 1;
  const bool root = communicator.rank() == 0;
  const std::uint64_t steps =
      static_cast<std::uint64_t>(std::ceil(std::log2(static_cast<double>(communicator.size()))));
  const std::uint64_t reduced = others * 2 * 4'000 / communicator.size();
  require(communicator.traffic().bytes - before.bytes ==
              2 * reduced + (root ? 4'000 * others : 0) + 40 * others,
          "bytes sent");
  require(communicator.traffic().messages - before.messages ==
              4 * others + (root ? others : 0) + others + steps,
          "messages sent");
}

std::span<std::byte> bytes_of(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

/// Everybody sends to everybody, on two tags, three messages each: empty, small, and too long for
/// a network's buffers. Receives of the second tag are asked for first, and a sum goes between.
void check_messages(Communicator& communicator) {
  const std::vector<std::size_t> lengths = {0, 3, 100'000};
  const std::uint32_t size = communicator.size(), rank = communicator.rank();
  const Traffic before = communicator.traffic();
  std::vector<std::vector<float>> sent, received;
  std::vector<std::unique_ptr<PendingOperation>> pending;
  const std::size_t count = std::size_t{2} * size * lengths.size();
  sent.reserve(count);
  received.reserve(count);
  for (const std::uint32_t tag : {1u, 0u}) {
    for (std::uint32_t other = 0; other < size; ++other) {
      for (const std::size_t length : other == rank ? std::vector<std::size_t>{} : lengths) {
        received.emplace_back(length);
        pending.push_back(communicator.start_receive(bytes_of(received.back()), other, tag));
      }
    }
  }
  std::vector<double> between = {1.0};
  communicator.all_reduce_sum(between);
  const Traffic summed = communicator.traffic();
  for (const std::uint32_t tag : {0u, 1u}) {
    for (std::uint32_t other = 0; other < size; ++other) {
      for (const std::size_t length : other == rank ? std::vector<std::size_t>{} : lengths) {
        sent.push_back(input_of<float>(10 * rank + tag, length));
        pending.push_back(communicator.start_send(bytes_of(sent.back()), other, tag));
      }
    }
  }
  for (const auto& operation : pending) operation->wait();
  std::size_t next = 0;
  for (const std::uint32_t tag : {1u, 0u}) {
    for (std::uint32_t other = 0; other < size; ++other) {
      for (const std::size_t length : other == rank ? std::vector<std::size_t>{} : lengths) {
        require(received[next++] == input_of<float>(10 * other + tag, length), "a message");
      }
    }
  }
  require(between[0] == size, "a sum while messages are under way");
  require(summed.messages - before.messages == 2 * (size - 1), "receives count nothing");
  require(communicator.traffic().messages - summed.messages == 6 * (size - 1), "messages");
  require(communicator.traffic().bytes - summed.bytes == 800'024 * (size - 1), "message bytes");
}

/// A thread sends round a ring and receives, while this one adds up.
void check_messages_beside(Communicator& communicator) {
  const std::uint32_t size = communicator.size(), rank = communicator.rank();
  if (size == 1) return;
  constexpr int kRounds = 50;
  const Traffic before = communicator.traffic();
  std::jthread beside([&] {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> mine(1'000, static_cast<float>(rank + 10 * round));
      std::vector<float> theirs(1'000);
      const std::uint32_t from = (rank + size - 1) % size;
      const auto receive = communicator.start_receive(bytes_of(theirs), from, 6);
      const auto send = communicator.start_send(bytes_of(mine), (rank + 1) % size, 6);
      send->wait();
      while (!receive->test()) continue;
      require(theirs.back() == static_cast<float>(from + 10 * round), "a message beside sums");
    }
  });
  std::vector<float> values;
  for (int round = 0; round < kRounds; ++round) {
    values.assign(2'000, static_cast<float>(round));
    communicator.all_reduce_sum(values);
    require(values.back() == static_cast<float>(round * size), "a sum beside messages");
  }
  beside.join();
  const Traffic sum = communicator.cost_of_all_reduce(values.size() * sizeof(float));
  const Traffic after = communicator.traffic();
  require(after.bytes - before.bytes == kRounds * (sum.bytes + 4'000), "bytes of both threads");
  require(after.messages - before.messages == kRounds * (sum.messages + 1), "messages of both");
}

/// A receive that nobody answers can be dropped, and a later one still gets its message.
void check_dropped_receive(Communicator& communicator) {
  const std::uint32_t size = communicator.size(), rank = communicator.rank();
  if (size == 1) return;
  std::vector<float> mine = {static_cast<float>(rank)}, theirs(1);
  communicator.start_receive(bytes_of(theirs), (rank + size - 1) % size, 5).reset();
  communicator.barrier();
  const auto receive = communicator.start_receive(bytes_of(theirs), (rank + size - 1) % size, 5);
  const auto send = communicator.start_send(bytes_of(mine), (rank + 1) % size, 5);
  while (!receive->test()) continue;
  send->wait();
  require(theirs[0] == static_cast<float>((rank + size - 1) % size), "after a dropped receive");
}

/// Process 0 works alone; all throw what it throws, and can go on afterwards.
void check_first(Communicator& communicator) {
  int calls = 0;
  run_on_first(communicator, [&] { ++calls; });
  require(calls == (communicator.rank() == 0 ? 1 : 0), "only process 0 runs it");
  std::string message;
  try {
    run_on_first(communicator, [] { throw DataError("x.bin: too short"); });
  } catch (const DataError& error) {
    message = error.what();
  }
  require(message == "x.bin: too short", "the error of process 0");
}

void check_everything(Communicator& communicator) {
  check_reductions<float>(communicator, "floats");
  check_reductions<double>(communicator, "doubles");
  check_reductions<std::int64_t>(communicator, "integers");
  check_pending(communicator);
  check_broadcast(communicator);
  check_gather(communicator);
  check_exact(communicator, 10'000, false);
  check_exact(communicator, 270'000, true);
  check_traffic(communicator);
  check_messages(communicator);
  check_messages_beside(communicator);
  check_dropped_receive(communicator);
  check_first(communicator);
  communicator.barrier();
}

/// A process joins one job only, so a run checks either small chunks or the usual ones.
CommunicatorSpec spec_from(int argc, char** argv) {
  const bool small = argc > 1 && std::string_view(argv[1]) == "small-chunks";
  return small ? CommunicatorSpec{.chunk_bytes = 8'001, .gather_bytes = 2'000} : CommunicatorSpec{};
}

}  // namespace
}  // namespace impart::comm

int main(int argc, char** argv) {
  try {
    const auto communicator = impart::comm::make_communicator(impart::comm::spec_from(argc, argv));
    const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
    impart::comm::require(communicator->size() == (size == nullptr ? 1u : std::stoul(size)),
                          "size");
    impart::comm::run_job(*communicator, [&] { impart::comm::check_everything(*communicator); });
    if (communicator->rank() == 0) fmt::print("{} processes: right\n", communicator->size());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "comm_process_test: {}\n", error.what());
    return 1;
  }
}
