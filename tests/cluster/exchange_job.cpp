// How long exchanges of a strategy take with the partitioned store over MPI, one worker per
// process, beside what the simulation says of the very same plans:
//
//   mpirun … exchange_job STRATEGY EXAMPLES PAYLOAD RATE [EXCHANGES]
//
// RATE: of each process's network, for the simulation: 100Mb/s. Prints a line of JSON for each
// exchange: {"bytes": …, "measured": …, "mean": …, "busy": …, "simulated": …, "simulated_mean": …}.
// Seconds until the last process is done, and until a process is done, the mean over them; `busy`
// is the share of the machine's cores that did anything meanwhile.

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/core/error.h"
#include "impart/cost/cluster/simulated_exchange.h"
#include "impart/cost/simulated_placement.h"
#include "impart/cost/units.h"
#include "impart/store/partitioned_store.h"
#include "tests/cluster/cluster_exchanges.h"

namespace {

using namespace impart;

struct Arguments {
  std::string strategy;
  std::uint64_t examples, payload;
  double rate;
  std::uint32_t exchanges;
};

Arguments read_arguments(int argc, char** argv) {
  if (argc < 5) throw ConfigError("exchange_job STRATEGY EXAMPLES PAYLOAD RATE [EXCHANGES]");
  return {argv[1], std::stoull(argv[2]), std::stoull(argv[3]), cost::parse_rate(argv[4]),
          argc > 5 ? static_cast<std::uint32_t>(std::stoul(argv[5])) : 1};
}

/// What all cores of the machine have done so far, in ticks of its clock.
struct Ticks {
  double all = 0, idle = 0;
};
Ticks ticks_of_machine() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;  // user, nice, system, idle, iowait, irq, softirq, steal
  Ticks ticks;
  double count = 0;
  for (int kind = 0; kind < 8 && file >> count; ++kind) {
    ticks.all += count;
    if (kind == 3 || kind == 4) ticks.idle += count;
  }
  return ticks;
}

struct Measured {
  double seconds = 0, mean = 0, busy = 0;
};

Measured measure_moves(comm::Communicator& communicator, store::Store& store,
                       const placement::MovePlan& plan) {
  communicator.barrier();
  const Ticks before = ticks_of_machine();
  const auto start = std::chrono::steady_clock::now();
  store.start_moves(plan);
  store.finish_moves();
  const double own =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double last[] = {own}, sum[] = {own};
  communicator.all_reduce_max(last);
  communicator.all_reduce_sum(sum);
  const Ticks after = ticks_of_machine();
  return {.seconds = last[0],
          .mean = sum[0] / communicator.size(),
          .busy = 1 - (after.idle - before.idle) / (after.all - before.all)};
}

void run(const Arguments& arguments) {
  const auto communicator = comm::make_communicator();
  const std::uint32_t workers = communicator->size();
  const auto source =
      std::make_shared<testing::NumberedSource>(arguments.examples, arguments.payload);
  const auto store = store::make_partitioned_store({.workers = workers}, *communicator, source);
  cost::SimulatedPlacement placement(testing::decisions_of(arguments.strategy, workers),
                                     {.examples = arguments.examples});
  std::uint32_t exchanges = 0;
  for (const placement::ScheduleEvent& event : placement.schedule()) {
    if (exchanges > arguments.exchanges) break;
    const auto change = placement.prepare_epoch(event.epoch);
    if (event.epoch == 0) store->settle(placement.placement().partition());
    if (!change || change->plan.moves.empty()) continue;
    const Measured measured = measure_moves(*communicator, *store, change->plan);
    // The first opens connections, and comes from a random partition.
    if (exchanges++ == 0 || communicator->rank() != 0) continue;
    const cost::SimulatedExchange simulated = cost::simulate_exchange(
        change->plan, {.topology = {.kind = cost::TopologyKind::kSwitch,
                                    .nodes = workers,
                                    .rate = arguments.rate,
                                    .latency = 100e-6},
                       .payload_bytes = static_cast<double>(arguments.payload)});
    fmt::print(
        "{{\"bytes\": {:.0f}, \"measured\": {:.6f}, \"mean\": {:.6f}, \"busy\": {:.3f}, "
        "\"simulated\": {:.6f}, \"simulated_mean\": {:.6f}}}\n",
        simulated.bytes, measured.seconds, measured.mean, measured.busy, simulated.seconds,
        simulated.mean_seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_arguments(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_job: {}\n", error.what());
    return 1;
  }
}
