// What every process of a run knows of all examples, and what a repartition of them takes: memory
// and seconds of one process, of which each of the others has the same.
//
//   build/release/bin/knowledge_bench EXAMPLES PROCESSES [--header]
//
// One worker per process, sticky stripes by the variance of losses. Prints a line of CSV: bytes of
// memory at rest (partition, importance table, mixing) and at most, and seconds of one core for
//
//   observe      an epoch's visits of all examples go into the table
//   repartition  importance, heuristic, and the plan of what moves
//   order        in which order every worker visits its examples
//   lanes        what of the plan concerns this process, cut into messages
//
// bench/knowledge_curve.py runs it for many sizes. Checks that parts are of equal sizes, and that
// what moves is what the two partitions differ in.

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/placement/placement.h"
#include "impart/store/flow.h"

namespace {

using namespace impart;

constexpr std::string_view kHeader =
    "examples,processes,bytes_at_rest,bytes_at_most,observe,repartition,order,lanes,moved";

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t most_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// Of this process alone, whatever else the machine does.
template <class Function>
double seconds_of(Function&& function) {
  const std::clock_t start = std::clock();
  function();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// A piece of an epoch's visits at a time, as they come from the other processes.
void observe_all(placement::Placement& placement, std::uint32_t epoch, std::uint64_t examples) {
  constexpr std::uint64_t kAtOnce = 1 << 16;
  RandomStream random({.seed = 1, .purpose = Purpose("bench"), .epoch = epoch});
  std::vector<ExampleId> ids;
  std::vector<float> losses;
  for (std::uint64_t first = 0; first < examples; first += kAtOnce) {
    ids.clear();
    losses.clear();
    for (std::uint64_t i = first; i < std::min(examples, first + kAtOnce); ++i) {
      ids.push_back(ExampleId{i});
      losses.push_back(static_cast<float>(random.uniform()));
    }
    placement.table().observe(epoch, ids, {.loss = losses});
  }
}

/// The moves of one worker.
placement::MovePlan moves_of(const placement::MovePlan& plan, WorkerId worker) {
  placement::MovePlan own;
  for (const placement::Move& move : plan.moves) {
    if (move.from == worker || move.to == worker) own.moves.push_back(move);
  }
  return own;
}

void check_repartition(const placement::Partition& before, const placement::Partition& after,
                       const placement::MovePlan& plan) {
  const auto sizes = after.sizes();
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  bench::require(*most - *least <= 1, "sizes of parts");
  std::uint64_t differing = 0;
  for (std::uint64_t i = 0; i < before.examples(); ++i) {
    differing += before.owner(ExampleId{i}) != after.owner(ExampleId{i});
  }
  bench::require(differing == plan.moves.size(), "moves");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "knowledge_bench EXAMPLES PROCESSES [--header]\n");
    return 2;
  }
  const std::uint64_t examples = std::stoull(argv[1]);
  const auto processes = static_cast<std::uint32_t>(std::stoul(argv[2]));
  const std::uint64_t at_start = resident_bytes();
  placement::PlacementSpec spec;
  spec.workers = processes;
  spec.epochs = 4;
  spec.warmup = 1;
  spec.interval = 1;
  spec.sticky = true;
  spec.heuristic = find_entry(placement::kHeuristics, "heuristic", "stripes");
  placement::Placement placement(spec, {.examples = examples});
  placement.prepare_epoch(0, {});
  const double observing = seconds_of([&] { observe_all(placement, 0, examples); });
  const std::uint64_t at_rest = resident_bytes() - at_start;

  const placement::Partition before = placement.partition();
  std::optional<placement::PlacementChange> change;
  const double repartitioning = seconds_of([&] { change = placement.prepare_epoch(1, {}); });
  const double ordering = seconds_of([&] { placement.order(1); });
  std::size_t flows = 0;
  const double cutting = seconds_of([&] {
    const placement::MovePlan own = moves_of(change->plan, WorkerId{0});
    flows = store::cut_into_flows(own).size();
  });
  const std::uint64_t at_most = most_bytes() - at_start - examples * sizeof(WorkerId);
  bench::require(flows <= 2 * std::size_t{processes}, "flows of one process");
  check_repartition(before, placement.partition(), change->plan);
  if (argc > 3) fmt::print("{}\n", kHeader);
  fmt::print("{},{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{}\n", examples, processes, at_rest, at_most,
             observing, repartitioning, ordering, cutting, change->plan.moves.size());
}
