#include "impart/cost/cluster/simulated_exchange.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/cost/cluster/cluster_messages.h"
#include "impart/cost/cluster/stand_in_shelf.h"
#include "impart/placement/hosted_workers.h"
#include "impart/store/lanes.h"

namespace impart::cost {
namespace {

/// Each payload stands for so many bytes of its own size.
double scale_of(const ClusterSpec& spec) {
  return (spec.payload_bytes + store::kFrameBytes) /
         static_cast<double>(StandInShelf::kBytes + store::kFrameBytes);
}

std::uint64_t scaled_down(std::uint64_t bytes, double scale) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(bytes) / scale));
}

TopologySpec usable_topology(const ClusterSpec& spec) {
  TopologySpec topology = spec.topology;
  topology.rate *= spec.efficiency;
  return topology;
}

/// Of the time that a piece takes beside those of seven other lanes.
double moment_of(const ClusterSpec& spec) {
  const double piece =
      std::min(static_cast<double>(spec.flow.piece_bytes), spec.payload_bytes + store::kFrameBytes);
  const double lanes = static_cast<double>(store::kLanesAtOnce);
  return spec.precision * lanes * piece / (spec.topology.rate * spec.efficiency);
}

/// The moves that concern some workers, with examples numbered from 0 on in the same order.
struct OwnMoves {
  placement::MovePlan plan;
  std::vector<std::uint64_t> numbers;  ///< of examples 0, 1, …
};

std::vector<OwnMoves> moves_by_node(const placement::MovePlan& plan, std::uint32_t workers,
                                    std::uint32_t nodes) {
  std::vector<OwnMoves> own(nodes);
  for (const placement::Move& move : plan.moves) {
    if (std::max(index(move.from), index(move.to)) >= workers) {
      throw ConfigError(fmt::format("a plan moves from worker {} to {}, of {}", index(move.from),
                                    index(move.to), workers));
    }
    const std::uint32_t from = placement::hosting_process(move.from, workers, nodes);
    const std::uint32_t to = placement::hosting_process(move.to, workers, nodes);
    own[from].plan.moves.push_back(move);
    if (to != from) own[to].plan.moves.push_back(move);
  }
  for (OwnMoves& node : own) {
    for (const placement::Move& move : node.plan.moves) node.numbers.push_back(index(move.example));
    std::sort(node.numbers.begin(), node.numbers.end());
    for (placement::Move& move : node.plan.moves) {
      const auto place =
          std::lower_bound(node.numbers.begin(), node.numbers.end(), index(move.example));
      move.example = ExampleId{static_cast<std::uint64_t>(place - node.numbers.begin())};
    }
  }
  return own;
}

/// What all processes of a simulation have in common.
struct Shared {
  ClusterMessages& messages;
  std::uint32_t workers;
  std::uint32_t nodes;
  StandInShelf::Times times;
  store::FlowSpec flow;
  std::uint32_t window;
};

/// A process and its part of the exchange.
class SimulatedProcess {
 public:
  SimulatedProcess(const Shared& shared, std::uint32_t rank, OwnMoves moves)
      : moves_(std::move(moves)),
        messages_(shared.messages),
        communicator_(shared.messages.communicator(rank, shared.nodes, clock_)),
        parts_(placement::hosted_workers(shared.workers, rank, shared.nodes),
               make_shelves(shared, rank), moves_.numbers.size(), {}),
        pool_(shared.flow.piece_bytes),
        setup_{.parts = parts_,
               .pool = pool_,
               .sizes = [](ExampleId) { return StandInShelf::kBytes; },
               .flow = shared.flow},
        run_(moves_.plan, setup_, {.workers = shared.workers, .window = shared.window},
             *communicator_),
        pieces_within_(count_pieces_within(shared)) {}
  SimulatedProcess(const SimulatedProcess&) = delete;
  SimulatedProcess& operator=(const SimulatedProcess&) = delete;

  /// Goes on as far as it can; true when it is done. It is busy until clock().
  bool advance(double now) {
    clock_ = std::max(clock_, now);
    // Between workers of one process a call moves one piece, and nothing wakes it for the next.
    for (; pieces_within_ > 0; --pieces_within_) run_.advance();
    // A lane that ends makes room for another, which starts in the next call.
    for (bool is_first = true;; is_first = false) {
      const std::uint64_t before = messages_.asked();
      if (run_.advance()) return true;
      if (!is_first && messages_.asked() == before) return false;
    }
  }
  double clock() const { return clock_; }

 private:
  std::vector<std::unique_ptr<store::Shelf>> make_shelves(const Shared& shared,
                                                          std::uint32_t rank) {
    const placement::HostedWorkers hosted =
        placement::hosted_workers(shared.workers, rank, shared.nodes);
    std::vector<std::unique_ptr<store::Shelf>> shelves;
    for (std::uint32_t i = 0; i < hosted.count; ++i) {
      auto shelf = std::make_unique<StandInShelf>(moves_.numbers, shared.times, clock_);
      for (const placement::Move& move : moves_.plan.moves) {
        if (index(move.from) == hosted.first + i) shelf->hold(move.example);
      }
      shelves.push_back(std::move(shelf));
    }
    return shelves;
  }

  /// At most so many go from a worker of this process to another.
  std::uint64_t count_pieces_within(const Shared& shared) const {
    const placement::HostedWorkers& hosted = parts_.hosted();
    const auto within = std::ranges::count_if(moves_.plan.moves, [&](const auto& move) {
      return hosted.contains(move.from) && hosted.contains(move.to);
    });
    const std::uint64_t frame = StandInShelf::kBytes + store::kFrameBytes;
    return static_cast<std::uint64_t>(within) *
           (store::divide_up(frame, shared.flow.piece_bytes) + 1);
  }

  OwnMoves moves_;
  const ClusterMessages& messages_;
  double clock_ = 0;
  std::unique_ptr<comm::Communicator> communicator_;
  store::HeldParts parts_;
  store::PiecePool pool_;
  store::FlowSetup setup_;
  store::LaneRun run_;
  std::uint64_t pieces_within_;
};

/// Takes all processes from the beginning of an exchange to its end.
class Driver {
 public:
  Driver(std::vector<std::unique_ptr<SimulatedProcess>>& processes, FluidNetwork& network,
         ClusterMessages& messages)
      : processes_(processes),
        network_(network),
        messages_(messages),
        ended_(processes.size(), kRunning) {}

  /// When each process was done.
  const std::vector<double>& run(const Progress& progress) {
    for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) busy_.push({0, rank});
    while (done_ < processes_.size()) {
      go_on_with_free(progress);
      if (done_ == processes_.size()) break;
      const double limit =
          busy_.empty() ? std::numeric_limits<double>::infinity() : busy_.top().first;
      if (busy_.empty() && network_.idle()) throw Error("simulated processes wait for each other");
      for (const std::uint32_t rank : messages_.advance(limit)) {
        busy_.push({std::max(network_.now(), processes_[rank]->clock()), rank});
      }
    }
    return ended_;
  }

 private:
  static constexpr double kRunning = -1;
  using Wake = std::pair<double, std::uint32_t>;

  void go_on_with_free(const Progress& progress) {
    while (!busy_.empty() && busy_.top().first <= network_.now()) {
      const std::uint32_t rank = busy_.top().second;
      busy_.pop();
      SimulatedProcess& process = *processes_[rank];
      if (ended_[rank] != kRunning || process.clock() > network_.now()) continue;
      const double before = std::max(process.clock(), network_.now());
      if (process.advance(network_.now())) {
        ended_[rank] = process.clock();
        ++done_;
        if (progress) progress(done_, processes_.size());
      } else if (process.clock() > before) {
        busy_.push({process.clock(), rank});  // it looks again at what came meanwhile
      }
    }
  }

  std::vector<std::unique_ptr<SimulatedProcess>>& processes_;
  FluidNetwork& network_;
  ClusterMessages& messages_;
  std::vector<double> ended_;
  std::size_t done_ = 0;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> busy_;  ///< when to go on
};

void note_links(const Topology& topology, std::span<const double> carried,
                SimulatedExchange& exchange) {
  const std::uint32_t own = 2 * topology.spec().nodes;
  const auto note = [&](BusyLink& busiest, std::uint32_t link) {
    const double seconds = carried[link] / topology.rate(link);
    if (carried[link] == 0 || seconds <= busiest.share) return;
    busiest = {topology.name(link), carried[link], seconds};
  };
  for (std::uint32_t link = 0; link < carried.size(); ++link) {
    note(exchange.busiest, link);
    if (link < own) {
      exchange.least_seconds =
          std::max(exchange.least_seconds, carried[link] / topology.rate(link));
    } else {
      note(exchange.busiest_inside, link);
    }
  }
  if (exchange.seconds == 0) return;
  exchange.busiest.share /= exchange.seconds;
  exchange.busiest_inside.share /= exchange.seconds;
}

void check_cluster(const ClusterSpec& spec) {
  if (!(spec.payload_bytes >= 1)) throw ConfigError("an example has at least 1 byte");
  if (!(spec.efficiency > 0 && spec.efficiency <= 1)) {
    throw ConfigError(
        fmt::format("an efficiency of {}; it is above 0 and at most 1", spec.efficiency));
  }
}

}  // namespace

SimulatedExchange simulate_exchange(const placement::MovePlan& plan, const ClusterSpec& spec,
                                    const Progress& progress) {
  check_cluster(spec);
  const Topology topology(usable_topology(spec));
  const double scale = scale_of(spec), payload = spec.payload_bytes;
  FluidNetwork network(topology, moment_of(spec));
  double piece_bytes = 0;
  ClusterMessages messages(network, [&](std::size_t bytes, std::uint32_t tag) {
    const double declared = static_cast<double>(bytes) * (tag == store::kPieceTag ? scale : 1);
    piece_bytes += declared;
    return declared;
  });
  store::FlowSpec flow = spec.flow;
  flow.piece_bytes = scaled_down(flow.piece_bytes, scale);
  flow.sync_bytes = scaled_down(flow.sync_bytes, scale);
  const std::uint32_t nodes = spec.topology.nodes;
  const Shared shared{.messages = messages,
                      .workers = spec.workers == 0 ? nodes : spec.workers,
                      .nodes = nodes,
                      .times = {.pack = spec.pack > 0 ? payload / spec.pack : 0,
                                .read = spec.disk > 0 ? payload / spec.disk : 0,
                                .write = spec.disk > 0 ? payload / spec.disk : 0},
                      .flow = flow,
                      .window = spec.window};
  std::vector<std::unique_ptr<SimulatedProcess>> processes;
  std::uint32_t rank = 0;
  for (OwnMoves& moves : moves_by_node(plan, shared.workers, nodes)) {
    processes.push_back(std::make_unique<SimulatedProcess>(shared, rank++, std::move(moves)));
  }
  Driver driver(processes, network, messages);
  const std::vector<double>& ended = driver.run(progress);
  SimulatedExchange exchange{.seconds = *std::max_element(ended.begin(), ended.end()),
                             .bytes = piece_bytes,
                             .examples = plan.moves.size(),
                             .messages = messages.messages()};
  for (const double seconds : ended) exchange.mean_seconds += seconds / nodes;
  note_links(topology, network.carried(), exchange);
  return exchange;
}

double simulate_ring(double bytes, const ClusterSpec& spec) {
  const std::uint32_t nodes = spec.topology.nodes;
  if (nodes < 2) return 0;
  const Topology topology(usable_topology(spec));
  FluidNetwork network(topology, 0);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    network.start(i, (i + 1) % nodes, bytes / nodes, 0, i);
  }
  while (!network.idle()) network.advance(std::numeric_limits<double>::infinity());
  return network.now() * 2 * (nodes - 1);
}

}  // namespace impart::cost
