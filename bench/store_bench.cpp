// How fast a partitioned store in memory carries out a full random repartition, beside two bare MPI
// programs that move the same bytes between the same processes in pieces of 1 MiB, four under way
// per pair and direction:
//
//   contiguous   from one buffer into another: what the transport can do
//   scattered    the very same examples, gathered from the places where they lie and scattered to
//                free ones: what any program must do whose examples change owner; without hashes,
//                acknowledgements, locks and ledger
//
//   mpirun -n 4 build/release/bin/store_bench [EXAMPLES [PAYLOAD_BYTES [ROUNDS]]]
//
// One worker per process; the three alternate. Checks every payload of the store and of the
// scattered program after the last round. Prints medians, and the ratios of the store to the
// others.

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

using impart::ExampleId;
using impart::WorkerId;
using impart::comm::Communicator;
using impart::placement::MovePlan;
using impart::placement::Partition;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kWindow = 4;

/// Payloads that are cheap to make and tell examples apart.
class CountingSource final : public impart::data::PayloadSource {
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

/// Pieces on their way to or from one other process, in order, at most kWindow.
class PieceLine {
 public:
  PieceLine(MPI_Comm communicator, std::uint32_t peer)
      : communicator_(communicator), peer_(static_cast<int>(peer)) {}

  bool full() const { return under_way_.size() == kWindow; }
  bool empty() const { return under_way_.empty(); }
  void send(std::span<const std::byte> piece) {
    under_way_.emplace_back();
    MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, peer_, 0, communicator_,
              &under_way_.back());
  }
  void receive(std::span<std::byte> piece) {
    under_way_.emplace_back();
    MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, peer_, 0, communicator_,
              &under_way_.back());
  }
  /// Whether the first was there and is done.
  bool take_first() {
    if (empty()) return false;
    int done = 0;
    MPI_Test(&under_way_.front(), &done, MPI_STATUS_IGNORE);
    if (done != 0) under_way_.pop_front();
    return done != 0;
  }

 private:
  MPI_Comm communicator_;
  int peer_;
  std::deque<MPI_Request> under_way_;
};

/// What goes to and comes from each other process in one exchange, from the nearest on.
struct Peer {
  std::uint32_t to, from;
  std::vector<ExampleId> out, in;
};

std::vector<Peer> peers_of(const MovePlan& plan, std::uint32_t rank, std::uint32_t size) {
  std::vector<Peer> peers;
  for (std::uint32_t distance = 1; distance < size; ++distance) {
    peers.push_back({(rank + distance) % size, (rank + size - distance) % size, {}, {}});
  }
  for (const impart::placement::Move& move : plan.moves) {
    const std::uint32_t distance = (index(move.to) + size - index(move.from)) % size;
    if (index(move.from) == rank) peers[distance - 1].out.push_back(move.example);
    if (index(move.to) == rank) peers[distance - 1].in.push_back(move.example);
  }
  return peers;
}

/// Cuts one buffer after the other into the pieces of a stretch of it.
struct Stretch {
  std::span<std::byte> left;

  bool empty() const { return left.empty(); }
  std::span<std::byte> next() {
    const auto piece = left.first(std::min(kPieceBytes, left.size()));
    left = left.subspan(piece.size());
    return piece;
  }
};

class ContiguousExchange {
 public:
  ContiguousExchange(MPI_Comm communicator, std::size_t most_bytes)
      : communicator_(communicator),
        source_(most_bytes, std::byte{1}),
        target_(most_bytes, std::byte{2}) {}

  void run(const std::vector<Peer>& peers, std::uint64_t frame_bytes) {
    struct Line {
      Stretch bytes;
      PieceLine pieces;
    };
    std::vector<Line> sends, receives;
    std::size_t sent = 0, received = 0;
    for (const Peer& peer : peers) {
      const std::size_t out = peer.out.size() * frame_bytes, in = peer.in.size() * frame_bytes;
      sends.push_back({{std::span(source_).subspan(sent, out)}, {communicator_, peer.to}});
      receives.push_back({{std::span(target_).subspan(received, in)}, {communicator_, peer.from}});
      sent += out;
      received += in;
    }
    for (bool busy = true; busy;) {
      busy = false;
      for (Line& line : receives) {
        while (line.pieces.take_first()) continue;
        while (!line.pieces.full() && !line.bytes.empty()) line.pieces.receive(line.bytes.next());
        busy |= !line.pieces.empty();
      }
      for (Line& line : sends) {
        while (line.pieces.take_first()) continue;
        while (!line.pieces.full() && !line.bytes.empty()) line.pieces.send(line.bytes.next());
        busy |= !line.pieces.empty();
      }
    }
  }

 private:
  MPI_Comm communicator_;
  std::vector<std::byte> source_, target_;
};

class ScatteredExchange {
 public:
  ScatteredExchange(MPI_Comm communicator, const CountingSource& source, const Partition& partition,
                    std::uint32_t rank)
      : communicator_(communicator),
        bytes_(source.payload_bytes(ExampleId{0})),
        per_piece_(std::max<std::size_t>(1, kPieceBytes / bytes_)),
        place_of_(source.examples()) {
    std::size_t held = 0;
    for (std::uint64_t i = 0; i < source.examples(); ++i) {
      if (index(partition.owner(ExampleId{i})) == rank) place_of_[i] = held++;
    }
    places_.resize(2 * (held + 1) * bytes_);
    for (std::size_t place = held; place < 2 * (held + 1); ++place) free_.push_back(place);
    for (std::uint64_t i = 0; i < source.examples(); ++i) {
      if (index(partition.owner(ExampleId{i})) == rank) source.read(ExampleId{i}, at(ExampleId{i}));
    }
  }

  std::span<std::byte> at(ExampleId id) {
    return std::span(places_).subspan(place_of_[index(id)] * bytes_, bytes_);
  }

  void run(const std::vector<Peer>& peers) {
    if (buffers_.empty()) buffers_.resize(2 * peers.size() * kWindow);
    std::vector<Line> sends, receives;
    for (const Peer& peer : peers) {
      sends.push_back({peer.out, {communicator_, peer.to}, sends.size()});
      receives.push_back({peer.in, {communicator_, peer.from}, peers.size() + receives.size()});
    }
    for (bool busy = true; busy;) {
      busy = false;
      for (Line& line : receives) busy |= advance_receive(line);
      for (Line& line : sends) busy |= advance_send(line);
    }
    for (const Peer& peer : peers) {
      for (const ExampleId id : peer.out) free_.push_back(place_of_[index(id)]);
    }
  }

 private:
  struct Line {
    std::span<const ExampleId> ids;  ///< not yet gathered, or not yet scattered
    PieceLine pieces;
    std::size_t number;
    std::size_t next_buffer = 0, first_buffer = 0;
    std::size_t asked = 0;  ///< of ids, when receiving
  };

  std::vector<std::byte>& buffer(const Line& line, std::size_t turn) {
    std::vector<std::byte>& found = buffers_[line.number * kWindow + turn % kWindow];
    found.resize(per_piece_ * bytes_);
    return found;
  }

  bool advance_send(Line& line) {
    while (line.pieces.take_first()) continue;
    while (!line.pieces.full() && !line.ids.empty()) {
      const auto some = line.ids.first(std::min(per_piece_, line.ids.size()));
      std::byte* to = buffer(line, line.next_buffer).data();
      for (const ExampleId id : some) {
        std::memcpy(to, at(id).data(), bytes_);
        to += bytes_;
      }
      line.pieces.send(std::span(buffer(line, line.next_buffer++)).first(some.size() * bytes_));
      line.ids = line.ids.subspan(some.size());
    }
    return !line.pieces.empty();
  }

  bool advance_receive(Line& line) {
    while (line.pieces.take_first()) {
      const auto some = line.ids.first(std::min(per_piece_, line.ids.size()));
      const std::byte* from = buffer(line, line.first_buffer++).data();
      for (const ExampleId id : some) {
        place_of_[index(id)] = free_.back();
        free_.pop_back();
        std::memcpy(at(id).data(), from, bytes_);
        from += bytes_;
      }
      line.ids = line.ids.subspan(some.size());
      line.asked -= some.size();
    }
    while (!line.pieces.full() && line.asked < line.ids.size()) {
      const std::size_t some = std::min(per_piece_, line.ids.size() - line.asked);
      line.pieces.receive(std::span(buffer(line, line.next_buffer++)).first(some * bytes_));
      line.asked += some;
    }
    return !line.pieces.empty();
  }

  MPI_Comm communicator_;
  std::size_t bytes_, per_piece_;
  std::vector<std::size_t> place_of_;
  std::vector<std::byte> places_;
  std::vector<std::size_t> free_;
  std::vector<std::vector<std::byte>> buffers_;
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

/// Every payload of this process, in the store and in the scattered program.
void check_payloads(impart::store::Store& store, ScatteredExchange& scattered,
                    const Partition& partition, const CountingSource& source, std::uint32_t rank) {
  std::vector<std::byte> payload, expected(source.payload_bytes(ExampleId{0}));
  for (std::uint64_t i = 0; i < partition.examples(); ++i) {
    const ExampleId id{i};
    if (index(partition.owner(id)) != rank) continue;
    store.read(id, WorkerId{rank}, payload);
    source.read(id, expected);
    impart::bench::require(payload == expected, "a payload of the store");
    impart::bench::require(std::ranges::equal(scattered.at(id), expected), "a scattered payload");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto communicator = impart::comm::make_communicator();
  impart::bench::require(communicator->size() > 1, "needs mpirun -n 2 or more");
  const std::uint64_t examples = argc > 1 ? std::stoull(argv[1]) : 65'536;
  const std::uint64_t payload_bytes = argc > 2 ? std::stoull(argv[2]) : 3'072;
  const std::uint32_t rounds = argc > 3 ? static_cast<std::uint32_t>(std::stoul(argv[3])) : 11;
  const std::uint32_t rank = communicator->rank(), size = communicator->size();
  const auto source = std::make_shared<CountingSource>(examples, payload_bytes);
  const auto store =
      impart::store::make_partitioned_store({.workers = size}, *communicator, source);
  Partition partition = random_partition(examples, size, 0);
  store->settle(partition);
  MPI_Comm bare = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &bare);
  ContiguousExchange contiguous(bare, 2 * (examples / size + 1) * (payload_bytes + 8));
  ScatteredExchange scattered(bare, *source, partition, rank);

  std::vector<double> store_seconds, contiguous_seconds, scattered_seconds;
  std::uint64_t moved = 0;
  for (std::uint32_t round = 0; round <= rounds; ++round) {
    const Partition next = random_partition(examples, size, round + 1);
    const MovePlan plan = impart::placement::diff(partition, next);
    const std::vector<Peer> peers = peers_of(plan, rank, size);
    const auto time = [&](std::vector<double>& seconds, const auto& function) {
      const double taken = seconds_together(*communicator, function);
      if (round > 0) seconds.push_back(taken);  // the first round touches memory for the first time
    };
    time(contiguous_seconds, [&] { contiguous.run(peers, payload_bytes + 8); });
    time(scattered_seconds, [&] { scattered.run(peers); });
    time(store_seconds, [&] {
      store->start_moves(plan);
      store->finish_moves();
    });
    moved = plan.moves.size() * payload_bytes;
    partition = next;
  }
  check_payloads(*store, scattered, partition, *source, rank);
  if (rank != 0) return 0;
  const double ours = median(store_seconds), gigabytes = static_cast<double>(moved) / 1e9;
  const double plain = median(contiguous_seconds), same = median(scattered_seconds);
  fmt::print(
      "{} processes, {} examples of {} bytes, {:.0f} MB moved: store {:.2f} GB/s; bare MPI: "
      "scattered {:.2f} GB/s, ratio {:.2f}; contiguous {:.2f} GB/s, ratio {:.2f}\n",
      size, examples, payload_bytes, 1e3 * gigabytes, gigabytes / ours, gigabytes / same,
      same / ours, gigabytes / plain, plain / ours);
}
