// What every process of a run knows of all examples, and what an epoch of it takes: memory and
// seconds of one process, of which each of the others has the same.
//
//   build/release/bin/knowledge_bench EXAMPLES PROCESSES [--header]
//
// One worker per process, sticky stripes by the variance of losses, two signals of every visit.
// Prints a line of CSV: bytes of memory at rest (partition, importance table, mixing), and of each
// phase the most bytes and the seconds of one core.
//
//   start        before the first epoch: the table and the first partition
//   repartition  importance, heuristic, and the plan of what moves
//   lanes        what of the plan concerns this process, cut into messages
//   steps        who visits what in which step of the epoch
//   gather       the signals of all processes, into the table
//
// `network` is what the gather itself takes on a simulated cluster, a process on each node: seconds
// of a ring at 25 Gb/s and 5 us, in a fat tree of leaves of 32 with half the rate to its spines.
//
// bench/knowledge_curve.py runs it for many sizes. Checks that parts are of equal sizes, that what
// moves is what the two partitions differ in, and that the table has seen every example; prints a
// checksum of the moves, the order of visits and the importance, which are the same before and
// after a change that only saves something.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/check.h"
#include "impart/comm/communicator.h"
#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/cost/cluster/simulated_exchange.h"
#include "impart/cost/units.h"
#include "impart/placement/placement.h"
#include "impart/placement/step_plan.h"
#include "impart/run/gather_visits.h"
#include "impart/store/flow.h"

namespace {

using namespace impart;

constexpr std::size_t kSignals = 2;
constexpr std::uint32_t kBatch = 32;

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// The most memory since the last call of forget_most.
std::uint64_t most_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stoull(line.substr(6));
  }
  throw IoError("/proc/self/status has no VmHWM");
}

void forget_most() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// What a phase takes.
struct Cost {
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< of this process alone, whatever else the machine does
};

template <class Function>
Cost cost_of(Function&& function) {
  forget_most();
  const double start = bench::processor_seconds();
  function();
  return {most_bytes(), bench::processor_seconds() - start};
}

/// A process of many, the others of which are not there: what they contribute is like its own.
class OneOfMany final : public comm::Communicator {
 public:
  explicit OneOfMany(std::uint32_t size) : Communicator(0, size) {}
  void wait_until(const std::function<bool()>&) override {}
  void announce_failure(std::string_view) noexcept override {}

 private:
  void do_barrier() override {}
  void do_broadcast(std::span<std::byte>, std::uint32_t) override {}
  void do_all_reduce(const Values&, Reduction) override {}
  std::unique_ptr<comm::PendingOperation> do_start_all_reduce(const Values&, Reduction) override {
    throw Error("nobody to add to");
  }
  std::unique_ptr<comm::PendingOperation> do_start_send(std::span<const std::byte>, std::uint32_t,
                                                        std::uint32_t) override {
    throw Error("nobody to send to");
  }
  std::unique_ptr<comm::PendingOperation> do_start_receive(std::span<std::byte>, std::uint32_t,
                                                           std::uint32_t) override {
    throw Error("nobody to receive from");
  }
  /// Floats in [0, 1), which each process has shifted by another length.
  void do_all_gather(std::span<const std::byte> mine, std::span<const std::size_t> ends,
                     std::span<std::byte> all) override {
    std::size_t start = 0;
    for (std::size_t process = 0; process < ends.size(); ++process) {
      const double shift = 0.6180339887498949 * static_cast<double>(process);
      for (std::size_t at = start; at < ends[process]; at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, &mine[(at - start) % mine.size()], sizeof(value));
        const double shifted = double{value} + shift;
        value = static_cast<float>(shifted - std::floor(shifted));
        std::memcpy(&all[at], &value, sizeof(value));
      }
      start = ends[process];
    }
  }
};

/// The signals of all processes go into the table, as at the end of an epoch of training.
void observe(const placement::StepPlan& plan, std::uint32_t epoch, comm::Communicator& communicator,
             importance::ImportanceTable& table) {
  std::vector<float> mine(kSignals * plan.visits_between(WorkerId{0}, 0, plan.steps()));
  RandomStream random({.seed = 1, .purpose = Purpose("bench"), .epoch = epoch});
  for (float& value : mine) value = static_cast<float>(random.uniform());
  run::show_visits({.plan = &plan, .last_step = plan.steps(), .signals = kSignals, .mine = mine},
                   communicator, [&](const run::Visits& piece) {
                     table.observe(epoch, piece.ids,
                                   {.loss = std::span(piece.values).first(piece.ids.size())});
                   });
}

/// Of everything that was decided, in order: a change that only saves something leaves it as it is.
class Checksum {
 public:
  void add(std::uint64_t number) { sum_ = (sum_ ^ number) * 0x100000001B3; }  // FNV
  void add(const placement::MovePlan& plan) {
    for (const placement::Move& move : plan.moves) {
      add(index(move.example));
      add(std::uint64_t{index(move.from)} << 32 | index(move.to));
    }
  }
  void add(const placement::StepPlan& plan) {
    for (std::uint32_t step = 0; step < plan.steps(); ++step) {
      for (std::uint32_t worker = 0; worker < plan.workers(); ++worker) {
        for (const ExampleId id : plan.batch_of(WorkerId{worker}, step)) add(index(id));
      }
    }
  }
  void add(const std::vector<float>& values) {
    for (const float value : values) add(std::bit_cast<std::uint32_t>(value));
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xCBF29CE484222325;
};

/// The moves of one worker.
placement::MovePlan moves_of(const placement::MovePlan& plan, WorkerId worker) {
  placement::MovePlan own;
  for (const placement::Move& move : plan.moves) {
    if (move.from == worker || move.to == worker) own.moves.push_back(move);
  }
  return own;
}

void check_parts(const placement::Partition& partition) {
  const auto sizes = partition.sizes();
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  bench::require(*most - *least <= 1, "sizes of parts");
}

/// Half of what adding up takes: every process's signals go round once.
double seconds_of_gather(std::uint64_t examples, std::uint32_t processes) {
  const double bytes = static_cast<double>(kSignals * sizeof(float) * examples);
  return cost::simulate_ring(bytes, {.topology = {.nodes = processes,
                                                  .rate = cost::parse_rate("25Gb/s"),
                                                  .latency = 5e-6,
                                                  .oversubscription = 2},
                                     .payload_bytes = 1}) /
         2;
}

/// After two epochs, the second of which began a new window.
void check_table(const importance::ImportanceTable& table) {
  for (std::uint64_t i = 0; i < table.spec().examples; ++i) {
    bench::require(table.statistics(ExampleId{i}).visits == 1, "visits in the window");
  }
}

placement::PlacementSpec decisions(std::uint32_t processes) {
  placement::PlacementSpec spec;
  spec.workers = processes;
  spec.epochs = 4;
  spec.warmup = 1;
  spec.interval = 1;
  spec.sticky = true;
  spec.heuristic = find_entry(placement::kHeuristics, "heuristic", "stripes");
  spec.notion = find_entry(importance::kNotions, "notion", "loss-variance");
  return spec;
}

/// The epoch's visits and, as in training, its steps.
struct EpochVisits {
  placement::Selected selected;
  placement::StepPlan plan;
};
EpochVisits plan_epoch(const placement::Placement& placement, std::uint32_t epoch) {
  placement::Selected selected = placement.select(epoch);
  placement::StepPlan plan(placement.order(epoch, selected.visits), kBatch,
                           placement::Uneven::kWeight);
  return {std::move(selected), std::move(plan)};
}

void print_costs(std::uint64_t examples, std::uint32_t processes) {
  OneOfMany communicator(processes);
  const std::uint64_t before = resident_bytes();
  std::optional<placement::Placement> placement;
  const Cost start = cost_of([&] {
    placement.emplace(decisions(processes), placement::PlacementData{.examples = examples});
    placement->prepare_epoch(0, {});
  });
  {
    const EpochVisits first = plan_epoch(*placement, 0);
    observe(first.plan, 0, communicator, placement->table());
  }
  const std::uint64_t at_rest = resident_bytes() - before;

  std::optional<placement::PlacementChange> change;
  const Cost repartition = cost_of([&] { change = placement->prepare_epoch(1, {}); });
  check_parts(placement->partition());
  bench::require(change->moved == change->plan.moves.size(), "moves");
  Checksum checksum;
  checksum.add(change->plan);
  std::size_t flows = 0;
  const Cost lanes = cost_of([&] {
    flows = store::cut_into_flows(moves_of(change->plan, WorkerId{0})).size();
    change->plan = {};
    change->importance = std::vector<float>();
  });
  bench::require(flows <= 2 * std::size_t{processes}, "flows of one process");
  std::optional<EpochVisits> visits;
  const Cost steps = cost_of([&] { visits.emplace(plan_epoch(*placement, 1)); });
  const Cost gather = cost_of([&] { observe(visits->plan, 1, communicator, placement->table()); });
  check_table(placement->table());
  checksum.add(visits->plan);
  checksum.add(placement->table().importance("loss-variance"));

  fmt::print("{},{},{}", examples, processes, at_rest);
  for (const Cost& cost : {start, repartition, lanes, steps, gather}) {
    fmt::print(",{},{:.4f}", cost.bytes - before, cost.seconds);
  }
  fmt::print(",{:.6f},{},{:016x}\n", seconds_of_gather(examples, processes), change->moved,
             checksum.sum());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "knowledge_bench EXAMPLES PROCESSES [--header]\n");
    return 2;
  }
  if (argc > 3) {
    fmt::print(
        "examples,processes,bytes_at_rest,start_bytes,start,repartition_bytes,repartition,"
        "lanes_bytes,lanes,steps_bytes,steps,gather_bytes,gather,network,moved,checksum\n");
  }
  print_costs(std::stoull(argv[1]), static_cast<std::uint32_t>(std::stoul(argv[2])));
}
