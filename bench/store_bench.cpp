// How fast a partitioned store in memory carries out a full random repartition, beside a bare MPI
// program that moves the same bytes between the same processes: pieces of 1 MiB, four under way per
// pair, from one contiguous buffer into another. One worker per process; rounds alternate.
//
//   mpirun -n 4 build/release/bin/store_bench [EXAMPLES [PAYLOAD_BYTES [ROUNDS]]]
//
// Checks every payload after the last round. Prints the median of the rounds, and the ratio.

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "bench/check.h"
#include "impart/comm/communicator.h"
#include "impart/core/random.h"
#include "impart/store/partitioned_store.h"

namespace {

using impart::Communicator;
using impart::ExampleId;
using impart::MovePlan;
using impart::Partition;
using impart::WorkerId;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kWindow = 4;

/// Payloads that are cheap to make and tell examples apart.
class CountingSource final : public impart::PayloadSource {
 public:
  CountingSource(std::uint64_t examples, std::uint64_t bytes)
      : examples_(examples), bytes_(bytes) {}
  std::uint64_t examples() const override { return examples_; }
  std::uint64_t payload_bytes(ExampleId) const override { return bytes_; }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    std::uint64_t word = index(id) * 0x9E37'79B9'7F4A'7C15u;
    for (std::size_t at = 0; at < payload.size(); at += sizeof(word), word += index(id) + 1) {
      std::memcpy(payload.data() + at, &word, std::min(sizeof(word), payload.size() - at));
    }
    return 0;
  }
  std::string describe(ExampleId id) const override { return fmt::format("{}", index(id)); }

 private:
  std::uint64_t examples_;
  std::uint64_t bytes_;
};

Partition random_partition(std::uint64_t examples, std::uint32_t workers, std::uint32_t number) {
  impart::RandomStream random(
      {.seed = 1, .purpose = impart::Purpose("store-bench"), .epoch = number});
  std::vector<WorkerId> owners(examples);
  for (std::uint64_t i = 0; i < examples; ++i) {
    owners[i] = WorkerId{static_cast<std::uint32_t>(i % workers)};
  }
  impart::shuffle(std::span(owners), random);
  return {std::move(owners), workers};
}

/// The bare program's traffic with one other process.
struct Channel {
  int peer = 0;
  std::span<std::byte> bytes;
  std::size_t started = 0;
  std::deque<MPI_Request> under_way{};

  template <class Start>
  bool advance(Start&& start) {
    while (!under_way.empty()) {
      int done = 0;
      MPI_Test(&under_way.front(), &done, MPI_STATUS_IGNORE);
      if (done == 0) break;
      under_way.pop_front();
    }
    while (under_way.size() < kWindow && started < bytes.size()) {
      const std::size_t size = std::min(kPieceBytes, bytes.size() - started);
      under_way.emplace_back();
      start(bytes.data() + started, static_cast<int>(size), peer, &under_way.back());
      started += size;
    }
    return under_way.empty();
  }
};

/// The bare program: all channels at once, polled in turn.
class BareExchange {
 public:
  BareExchange(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  }

  /// Sends bytes[p] to process p and receives as many as it sends.
  void run(const std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
    std::vector<Channel> sends = channels(to, source_), receives = channels(from, target_);
    bool done = false;
    while (!done) {
      done = true;
      for (Channel& channel : receives) {
        done &= channel.advance([&](std::byte* data, int size, int peer, MPI_Request* request) {
          MPI_Irecv(data, size, MPI_BYTE, peer, 0, communicator_, request);
        });
      }
      for (Channel& channel : sends) {
        done &= channel.advance([&](std::byte* data, int size, int peer, MPI_Request* request) {
          MPI_Isend(data, size, MPI_BYTE, peer, 0, communicator_, request);
        });
      }
    }
  }

  void make_room(std::size_t bytes) {
    source_.assign(bytes, std::byte{1});
    target_.assign(bytes, std::byte{2});
  }

 private:
  std::vector<Channel> channels(const std::vector<std::size_t>& sizes,
                                std::vector<std::byte>& buffer) const {
    std::vector<Channel> result;
    std::size_t used = 0;
    for (std::uint32_t distance = 1; distance < size_; ++distance) {
      const std::uint32_t peer = (rank_ + distance) % size_;
      result.push_back({static_cast<int>(peer), std::span(buffer).subspan(used, sizes[peer])});
      used += sizes[peer];
    }
    return result;
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::uint32_t rank_, size_;
  std::vector<std::byte> source_, target_;
};

/// Seconds of the slowest process.
template <class Function>
double seconds_together(Communicator& communicator, Function&& function) {
  communicator.barrier();
  double seconds[] = {impart::bench::seconds_of(function)};
  communicator.all_reduce_max(seconds);
  return seconds[0];
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void check_payloads(impart::Store& store, const Partition& partition, const CountingSource& source,
                    std::uint32_t rank) {
  std::vector<std::byte> payload, expected;
  for (std::uint64_t i = 0; i < partition.examples(); ++i) {
    const ExampleId id{i};
    if (index(partition.owner(id)) != rank) continue;
    store.read(id, WorkerId{rank}, payload);
    expected.resize(source.payload_bytes(id));
    source.read(id, expected);
    impart::bench::require(payload == expected, "a payload");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto communicator = impart::make_communicator();
  const std::uint64_t examples = argc > 1 ? std::stoull(argv[1]) : 65'536;
  const std::uint64_t payload_bytes = argc > 2 ? std::stoull(argv[2]) : 3'072;
  const std::uint32_t rounds = argc > 3 ? static_cast<std::uint32_t>(std::stoul(argv[3])) : 11;
  const std::uint32_t rank = communicator->rank(), size = communicator->size();
  const auto source = std::make_shared<CountingSource>(examples, payload_bytes);
  const auto store = impart::make_partitioned_store({.workers = size}, *communicator, source);
  Partition partition = random_partition(examples, size, 0);
  store->settle(partition);
  BareExchange bare(rank, size);
  bare.make_room(2 * (examples / size + 1) * (payload_bytes + 8));

  std::vector<double> store_seconds, bare_seconds;
  std::uint64_t moved = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const Partition next = random_partition(examples, size, round);
    const MovePlan plan = diff(partition, next);
    std::vector<std::size_t> to(size), from(size);
    for (const impart::Move& move : plan.moves) {
      if (index(move.from) == rank) to[index(move.to)] += payload_bytes + 8;
      if (index(move.to) == rank) from[index(move.from)] += payload_bytes + 8;
    }
    moved += plan.moves.size() * payload_bytes;
    bare_seconds.push_back(seconds_together(*communicator, [&] { bare.run(to, from); }));
    store_seconds.push_back(seconds_together(*communicator, [&] {
      store->start_moves(plan);
      store->finish_moves();
    }));
    partition = next;
  }
  check_payloads(*store, partition, *source, rank);
  if (rank != 0) return 0;
  const double gigabytes = static_cast<double>(moved) / rounds / 1e9;
  const double ours = median(store_seconds), theirs = median(bare_seconds);
  fmt::print(
      "{} processes, {} examples of {} bytes, {:.0f} MB moved: store {:.2f} GB/s, bare MPI "
      "{:.2f} GB/s, ratio {:.2f}\n",
      size, examples, payload_bytes, 1e3 * gigabytes, gigabytes / ours, gigabytes / theirs,
      theirs / ours);
}
